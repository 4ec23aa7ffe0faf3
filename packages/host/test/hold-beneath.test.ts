import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '@node-agent/async/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FileSystem, nodeFileSystem, nodeForeignFiles } from '../src/index.ts';
import { MemoryFileSystem, memoryForeignFiles } from '../src/testing.ts';
import { codeOf } from './compliance.ts';

describe.each<[string, () => FileSystem]>([
  ['nodeFileSystem', () => nodeFileSystem],
  ['MemoryFileSystem', () => new MemoryFileSystem()],
])('holdBeneath of %s', (_name, make) => {
  let fs: FileSystem;
  let root: string;
  const at = (path: string): string => join(root, path);
  beforeEach(async () => {
    fs = make();
    root = await mkdtemp(join(tmpdir(), 'host-test-'));
    await fs.mkdir(at('volume/sub'));
    await fs.chmod(at('volume'), 0o2777);
    await fs.writeFile(at('outside'), 'secret');
    await fs.writeFile(at('volume/sub/file'), 'x');
    await fs.symlink('sub', at('volume/link'));
    await fs.symlink('sub/../link/file', at('volume/round'));
    await fs.symlink(`${await fs.realpath(at('volume'))}/sub`, at('volume/own'));
    await fs.symlink(`${await fs.realpath(at('volume'))}-2`, at('volume/beside'));
    await fs.symlink('../outside', at('volume/out'));
    await fs.symlink('/outside', at('volume/absolute'));
    await fs.symlink('missing', at('volume/dangling'));
    await fs.symlink('loop', at('volume/loop'));
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  it.each([
    ['', ''],
    ['.', ''],
    ['sub', 'sub'],
    ['link', 'sub'],
    ['own/file', 'sub/file'],
    ['round', 'sub/file'],
  ])('W3: holdBeneath of %j opens %j in the volume', async (path, is) => {
    const place = await fs.holdBeneath(at('volume'), path);
    expect(place.stat).toEqual(await fs.stat(at(`volume/${is}`)));
    await place.close();
  });

  it.each([
    ['out', 'EXDEV'],
    ['absolute', 'EXDEV'],
    ['beside', 'EXDEV'],
    ['../outside', 'EXDEV'],
    ['link/../../outside', 'EXDEV'],
    ['loop', 'ELOOP'],
    ['none', 'ENOENT'],
    ['dangling', 'ENOENT'],
    ['sub/file/x', 'ENOTDIR'],
  ])('W3: holdBeneath of %j fails with %s and creates nothing', async (path, code) => {
    expect(await codeOf(fs.holdBeneath(at('volume'), path))).toBe(code);
    expect((await fs.readdir(at('volume'))).map(({ name }) => name)).not.toContain('none');
  });

  it('holdBeneath creates missing directories with the mode of their parent, and none through a dangling link', async () => {
    const place = await fs.holdBeneath(at('volume'), 'sub/a/b', { makeDirectories: true });
    expect(place.stat).toMatchObject({ kind: 'directory', mode: 0o2777 });
    expect((await fs.stat(at('volume/sub/a'))).mode).toBe(0o2777);
    await place.close();
    for (const path of ['dangling', 'dangling/x', 'out/x', 'sub/file/x']) {
      expect(await codeOf(fs.holdBeneath(at('volume'), path, { makeDirectories: true }))).not.toBe('none');
    }
    expect(await fs.exists(at('volume/missing'))).toBe(false);
  });
});

describe.runIf(process.platform === 'linux')('holdBeneath on Linux', () => {
  let root: string;
  const fs = nodeFileSystem;
  const at = (path: string): string => join(root, path);
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'host-test-'));
    await fs.mkdir(at('volume/dir'));
    await fs.mkdir(at('outside'), { mode: 0o700 });
    await fs.chmod(at('volume'), 0o777);
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  it('W3: holdBeneath stays in the volume even if a process swaps path components for links while it walks or creates', async () => {
    await fs.writeFile(at('volume/dir/own'), '');
    await fs.symlink('../outside', at('volume/link'));
    const script =
      'cd "$1"; while [ ! -e ../stop ] && mv dir real && mv link dir && mv dir link; do mv real dir; rm -rf dir/new; done';
    const swapper = spawn('sh', ['-c', script, 'sh', at('volume')], { stdio: 'ignore' });
    const ended = new Promise((resolve) => swapper.on('close', resolve));
    const outside = (await fs.stat(at('outside'))).inode;
    let held = 0;
    // On a busy machine, fewer rounds must do.
    const endMs = performance.now() + 8_000;
    try {
      for (let n = 0; n < 2_000 && performance.now() < endMs; n++) {
        const place = await fs
          .holdBeneath(at('volume'), 'dir/new/deep', { makeDirectories: true })
          .catch(() => undefined);
        if (place === undefined) continue;
        held++;
        expect(place.stat.inode).not.toBe(outside);
        await place.close();
      }
    } finally {
      await fs.writeFile(at('stop'), '');
      await ended;
    }
    expect(held).toBeGreaterThan(0);
    expect(await fs.readdir(at('outside'))).toEqual([]);
    expect((await fs.stat(at('outside'))).mode).toBe(0o700);
  });

  it('the handle of a held directory works in other processes, whatever directory has its name now', async () => {
    await fs.writeFile(at('volume/dir/f'), 'kept');
    const place = await fs.holdBeneath(at('volume'), 'dir');
    await fs.rename(at('volume/dir'), at('moved'));
    expect(Buffer.from(await fs.readFile(`${place.handle}/f`)).toString()).toBe('kept');
    await place.close();
  });

  it('W6: a helper process holds a directory of a file system that may hang, until the directory is released', async () => {
    await fs.writeFile(at('volume/dir/f'), 'kept');
    const files = nodeForeignFiles({ clock: new FakeClock() });
    const place = await files.holdBeneath(at('volume'), 'dir/new', { makeDirectories: true });
    expect(place.stat).toMatchObject({ kind: 'directory', mode: 0o777 });
    expect(place.handle).not.toContain(`/${process.pid}/`);
    expect((await fs.stat(place.handle)).inode).toBe(place.stat.inode);
    await place.close();
    expect(await fs.exists(place.handle)).toBe(false);
    await expect(files.holdBeneath(at('volume'), '../outside')).rejects.toMatchObject({ code: 'EXDEV' });
    // `holdBeneath` of nodeForeignFiles may enter another mount such as /proc; `holdBeneath` of nodeFileSystem must
    // not.
    await (await files.holdBeneath('/', 'proc/self')).close();
    expect(await codeOf(fs.holdBeneath('/', 'proc/self'))).toBe('EXDEV');
  });
});

it('W6: holdBeneath on a hanging file system fails at its deadline', async () => {
  const clock = new FakeClock();
  const fs = new MemoryFileSystem({ clock });
  await fs.mkdir('/data/nfs/x');
  const files = memoryForeignFiles({ clock, fs });
  const hang = fs.injectFault({ code: 'EIO', path: '/data/nfs', hangs: true });
  const hanging = codeOf(files.holdBeneath('/data', 'nfs/x'));
  await clock.settle();
  await clock.advance(10_000);
  expect(await hanging).toBe('ETIMEDOUT');
  // The hanging call does not block calls for other paths.
  await (await files.holdBeneath('/data', 'other', { makeDirectories: true })).close();
  hang.remove();
  await clock.settle();
  await clock.advance(10_000);
  await (await files.holdBeneath('/data', 'nfs/x')).close();
  expect(fs.heldPlaces).toBe(1);
});
