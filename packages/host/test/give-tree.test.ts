import { execFileSync, spawn } from 'node:child_process';
import { chmod, chown, lstat, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '@node-agent/async/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TreeGiver } from '../src/give-tree.ts';
import { nodeFileSystem as fs, systemError } from '../src/index.ts';
import { MemoryFileSystem } from '../src/testing.ts';
import { codeOf } from './compliance.ts';

const GID = 4321;
const isRoot = process.platform === 'linux' && process.getuid?.() === 0;
let root: string;
const at = (path: string): string => join(root, path);
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'host-test-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** Returns the mode in octal and the group of a file. */
const seen = async (path: string): Promise<string> => {
  const { mode, gid } = await lstat(at(path));
  return `${(mode & 0o7777).toString(8)} ${gid}`;
};

describe.runIf(isRoot)('giveToGroup, for root on Linux', { timeout: 60_000 }, () => {
  it('giveToGroup gives a whole tree to the group, only adds permissions, and follows no link out of the tree', async () => {
    await mkdir(at('tree/d/e'), { recursive: true });
    await mkdir(at('outside'));
    await writeFile(at('outside/f'), '', { mode: 0o600 });
    await writeFile(at('tree/f'), '', { mode: 0o604 });
    await writeFile(at('tree/d/e/run'), '');
    await chmod(at('tree/d/e/run'), 0o4755);
    await chmod(at('tree'), 0o700);
    await symlink('../outside/f', at('tree/link'));
    await symlink('../../outside', at('tree/d/directory-link'));
    await fs.writeFile(at('tree/d/\udcff\udcfe'), 'odd', { mode: 0o400 });
    execFileSync('mkfifo', ['-m', '600', at('tree/fifo')]);
    expect(await fs.giveToGroup(at('tree'), GID)).toEqual({ entries: 9, failed: 0, failure: '' });
    const names = ['tree', 'tree/d', 'tree/d/e', 'tree/f', 'tree/fifo', 'tree/d/e/run'];
    expect(await Promise.all(names.map(seen))).toEqual([
      '2770 4321',
      '2775 4321',
      '2775 4321',
      '664 4321',
      '660 4321',
      '4775 4321',
    ]);
    expect((await fs.lstat(at('tree/d/\udcff\udcfe'))).mode).toBe(0o660);
    expect((await lstat(at('tree/link'))).gid).toBe(GID);
    expect([await seen('outside'), await seen('outside/f')]).toEqual(['755 0', '600 0']);
    expect(await codeOf(fs.giveToGroup(at('none'), GID))).toBe('ENOENT');
    expect(await codeOf(fs.giveToGroup(at('outside/f'), GID))).toBe('ENOTDIR');
  });

  it('giveToGroup enters no mount, and changes entries deeper than the limit of open directories', async () => {
    await mkdir(at('tree/disk'), { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'mode=700', 'disk', at('tree/disk')]);
    try {
      await writeFile(at('tree/disk/f'), '', { mode: 0o600 });
      execFileSync('sh', ['-c', 'd=$(printf "d/%.0s" $(seq 900)); mkdir -p "$d" && : > "$d/f"'], { cwd: at('tree') });
      expect(await fs.giveToGroup(at('tree'), GID)).toMatchObject({ entries: 903, failed: 0 });
      expect([await seen('tree/disk'), await seen('tree/disk/f')]).toEqual(['700 0', '600 0']);
      const deepest = execFileSync('find', [at('tree'), '-xdev', '-type', 'f', '-group', `${GID}`, '-perm', '-660']);
      expect(`${deepest}`.trim().split('\n')).toHaveLength(1);
    } finally {
      execFileSync('umount', [at('tree/disk')]);
    }
  });

  it('W3: giveToGroup changes nothing outside the tree, even if a process swaps names for links meanwhile', async () => {
    await mkdir(at('outside'));
    await writeFile(at('outside/f'), '', { mode: 0o600 });
    await mkdir(at('tree/dir'), { recursive: true });
    await writeFile(at('tree/dir/f'), '');
    await writeFile(at('tree/f'), '');
    await symlink('../outside', at('tree/link'));
    await symlink('../outside/f', at('tree/file-link'));
    const script = [
      'cd "$1"',
      'while [ ! -e ../stop ]; do mv dir real; mv link dir; mv dir link; mv real dir; mv f g; mv file-link f; mv f file-link; mv g f; done',
    ].join('; ');
    const swapper = spawn('sh', ['-c', script, 'sh', at('tree')], { stdio: 'ignore' });
    const ended = new Promise((resolve) => swapper.on('close', resolve));
    for (let n = 0; n < 5; n++) await fs.giveToGroup(at('tree'), GID);
    await writeFile(at('stop'), '');
    await ended;
    expect([await seen('outside'), await seen('outside/f')]).toEqual(['755 0', '600 0']);
    expect((await lstat(at('tree'))).gid).toBe(GID);
  });

  it('giveToGroup skips and reports entries that cannot be changed, the directory itself included', async () => {
    await mkdir(at('tree'));
    await writeFile(at('tree/f'), '');
    execFileSync('mount', ['--bind', at('tree'), at('tree')]);
    try {
      execFileSync('mount', ['-o', 'remount,bind,ro', at('tree')]);
      expect(await fs.giveToGroup(at('tree'), GID)).toMatchObject({ entries: 2, failed: 2 });
    } finally {
      execFileSync('umount', [at('tree')]);
    }
    await chown(at('tree'), 0, 0);
    expect(await seen('tree/f')).toBe('644 0');
  });
});

describe('giveToGroup', () => {
  it('W6: giveToGroup fails with ETIMEDOUT after two minutes without progress, and kills its helper process', async () => {
    const clock = new FakeClock();
    let killed = 0;
    let tell: (() => void) | undefined;
    const giver = new TreeGiver({
      clock,
      startHelper: () => ({
        call: (_name, _args, onProgress) => {
          tell = onProgress;
          return new Promise(() => {});
        },
        kill: () => {
          killed++;
        },
        ended: new Promise(() => {}),
      }),
    });
    const giving = codeOf(giver.give('/srv', 1));
    await clock.advance(119_000);
    tell?.();
    await clock.advance(119_000);
    expect(killed).toBe(0);
    await clock.advance(1_000);
    expect([await giving, killed]).toEqual([process.platform === 'linux' ? 'ETIMEDOUT' : 'ENOTSUP', 1]);
  });

  it('giveToGroup fails with EAGAIN if its helper process has ended, so that the caller can retry', async () => {
    const giver = new TreeGiver({
      clock: new FakeClock(),
      startHelper: () => ({
        call: () => Promise.reject(systemError('ESRCH', 'call', 'helper')),
        kill: () => {},
        ended: Promise.resolve(),
      }),
    });
    expect(await codeOf(giver.give('/srv', 1))).toBe(process.platform === 'linux' ? 'EAGAIN' : 'ENOTSUP');
  });

  it('giveToGroup of the in-memory file system changes the same attributes, and enters no mount', async () => {
    const memory = new MemoryFileSystem();
    await memory.mkdir('/tree/d');
    await memory.mkdir('/tree/disk');
    memory.mount('/tree/disk');
    await memory.writeFile('/tree/d/f', '', { mode: 0o600 });
    await memory.symlink('/etc', '/tree/link');
    expect(await memory.giveToGroup('/tree', GID)).toEqual({ entries: 4, failed: 0, failure: '' });
    expect(await memory.stat('/tree')).toMatchObject({ gid: GID, mode: 0o2775 });
    expect(await memory.stat('/tree/d/f')).toMatchObject({ gid: GID, mode: 0o660 });
    expect((await memory.stat('/tree/disk')).gid).toBe(0);
    expect(await codeOf(memory.giveToGroup('/tree/d/f', GID))).toBe('ENOTDIR');
  });
});
