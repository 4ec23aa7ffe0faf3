import type { FileKind } from '@node-agent/host';
import { describe, expect, it } from 'vitest';
import { podVolume } from '../src/manager/resolved-volume.ts';
import { checkHostPath, HostPathPlugin } from '../src/types/host-path.ts';
import { errorOf, podOf, setUp } from './helpers.ts';

const KINDS: readonly (FileKind | undefined)[] = [
  undefined,
  'file',
  'directory',
  'socket',
  'fifo',
  'charDevice',
  'blockDevice',
];

describe('checkHostPath', () => {
  it.each<[string, FileKind, string, string | undefined]>([
    ['Directory', 'directory', 'a directory', undefined],
    ['DirectoryOrCreate', 'directory', 'a directory', 'makeDirectory'],
    ['File', 'file', 'a file', undefined],
    ['FileOrCreate', 'file', 'a file', 'makeFile'],
    ['Socket', 'socket', 'a socket file', undefined],
    ['CharDevice', 'charDevice', 'a character device', undefined],
    ['BlockDevice', 'blockDevice', 'a block device', undefined],
  ])('hostPath type %s accepts a %s and no other kind of file', (type, kind, words, make) => {
    for (const found of KINDS) {
      const refused = { action: 'refuse', message: `hostPath type check failed: /x is not ${words}` };
      const expected = found === kind ? { action: 'none' } : found === undefined && make ? { action: make } : refused;
      expect(checkHostPath('/x', type, found)).toEqual(expected);
    }
  });

  it('a hostPath volume without a type accepts any path, even a missing one', () => {
    for (const found of KINDS) expect(checkHostPath('/x', '', found)).toEqual({ action: 'none' });
  });

  it.each(['Folder', 'toString'])('refuses the unknown hostPath type %s', (type) => {
    expect(checkHostPath('/x', type, 'file')).toEqual({
      action: 'refuse',
      message: `${type} is an invalid volume type`,
    });
  });
});

describe('HostPathPlugin', () => {
  const volume = (path: string, type?: string) => ({
    name: 'v',
    hostPath: { path, ...(type !== undefined && { type }) },
  });

  it('creates a missing hostPath directory with its parents, but creates a missing file without its parents', async () => {
    const { fs, foreignFiles, signal } = setUp();
    const plugin = new HostPathPlugin({ foreignFiles });
    await plugin.setUp(podOf([]), podVolume({ volume: volume('/a/b', 'DirectoryOrCreate') }), {}, signal);
    expect(await fs.stat('/a/b')).toMatchObject({ kind: 'directory', mode: 0o755 });
    await plugin.setUp(podOf([]), podVolume({ volume: volume('/a/b/f', 'FileOrCreate') }), {}, signal);
    expect(await fs.stat('/a/b/f')).toMatchObject({ kind: 'file', sizeBytes: 0 });
    const error = await errorOf(
      plugin.setUp(podOf([]), podVolume({ volume: volume('/no/f', 'FileOrCreate') }), {}, signal),
    );
    expect(error.message).toBe('failed to create hostPath file /no/f: the directory /no does not exist');
  });

  it('a hostPath volume mounts its path as declared, checks the type behind symbolic links, and requests no SELinux relabelling', async () => {
    const { fs, foreignFiles, signal } = setUp();
    await fs.mkdir('/real');
    await fs.symlink('/real', '/link');
    expect(
      await new HostPathPlugin({ foreignFiles }).setUp(
        podOf([]),
        podVolume({ volume: volume('/link', 'Directory') }),
        {},
        signal,
      ),
    ).toEqual({
      hostPath: '/link',
      readOnly: false,
      selinuxRelabel: false,
      foreign: true,
    });
  });

  it('W6: the check of a host path on a hanging file system fails at its deadline and delays no other host path', async () => {
    const { fs, clock, manager, signal } = setUp();
    await fs.mkdir('/nfs/data');
    fs.injectFault({ code: 'EIO', path: '/nfs', hangs: true });
    const hanging = errorOf(manager.waitForAttachAndMount(podOf([volume('/nfs/data', 'Directory')], 'dead'), signal));
    await fs.mkdir('/local');
    await manager.waitForAttachAndMount(podOf([volume('/local', 'Directory')], 'alive'), signal);
    await clock.advance(10_000);
    expect((await hanging).message).toContain(
      "ETIMEDOUT: its file system did not answer within 10 s, stat '/nfs/data'",
    );
  });

  it('W3: refuses a host path that contains ..', async () => {
    const { foreignFiles, signal } = setUp();
    const error = await errorOf(
      new HostPathPlugin({ foreignFiles }).setUp(podOf([]), podVolume({ volume: volume('/srv/../etc') }), {}, signal),
    );
    expect([error.code, error.message]).toEqual([
      'InvalidPath',
      "invalid HostPath `/srv/../etc`: must not contain '..'",
    ]);
  });
});
