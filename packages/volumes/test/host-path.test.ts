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
  ])('%s takes a %s and nothing else', (type, kind, words, make) => {
    for (const found of KINDS) {
      const refused = { action: 'refuse', message: `hostPath type check failed: /x is not ${words}` };
      const expected = found === kind ? { action: 'none' } : found === undefined && make ? { action: make } : refused;
      expect(checkHostPath('/x', type, found)).toEqual(expected);
    }
  });

  it('takes anything, there or not, where no type is said', () => {
    for (const found of KINDS) expect(checkHostPath('/x', '', found)).toEqual({ action: 'none' });
  });

  it.each(['Folder', 'toString'])('refuses the type %s, which there is not', (type) => {
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

  it('makes a directory, with its parents, and a file, but no parents of it', async () => {
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

  it('gives the path as it is, follows links to tell the type, and asks for no label', async () => {
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

  it('W6: one on a file system that does not answer fails in time, and no other waits for it', async () => {
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

  it('W3: refuses to go up', async () => {
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
