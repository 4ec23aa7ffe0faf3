import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@node-agent/async';
import { nodeFileSystem as fs } from '@node-agent/host';
import { silentLogger as logger } from '@node-agent/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { acquireLockFile, hasWaiter, lockContention } from '../src/process/lock-file.ts';

let path = '';
let directory = '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'lock-'));
  path = join(directory, 'kubelet.lock');
});
afterEach(() => rm(directory, { recursive: true }));

const { signal } = new AbortController();

describe('the lock file', () => {
  it('a second kubelet waits for the lock file, and the first kubelet is notified of the wait', async () => {
    const first = await acquireLockFile({ logger }, path, signal);
    let hasSecond = false;
    const second = acquireLockFile({ logger }, path, signal).then((lock) => {
      hasSecond = true;
      return lock;
    });
    expect(await lockContention({ fs, clock: systemClock }, first, signal)).toBe('another process waits for the lock');
    expect(hasSecond).toBe(false);
    await first[Symbol.asyncDispose]();
    await using _lock = await second;
  });

  it('a wait for the lock file ends when the signal is aborted', async () => {
    await using _first = await acquireLockFile({ logger }, path, signal);
    const ending = new AbortController();
    const second = acquireLockFile({ logger }, path, ending.signal);
    ending.abort(new Error('ended by the test'));
    await expect(second).rejects.toThrow('ended by the test');
  });

  it('the removal of the lock file counts as lock contention', async () => {
    await using lock = await acquireLockFile({ logger }, path, signal);
    await rm(path);
    expect(await lockContention({ fs, clock: systemClock }, lock, signal)).toBe('the lock file was removed');
  });

  it('the start fails if the lock file cannot be locked', async () => {
    const error = Object.assign(new Error('spawn flock ENOENT'), { code: 'ENOENT' });
    const flock = async () => ({ error });
    await expect(acquireLockFile({ logger, flock }, path, signal)).rejects.toThrow(
      `acquire file lock on ${path}: flock program not found`,
    );
  });
});

describe('hasWaiter', () => {
  const held = '1: FLOCK  ADVISORY  WRITE 30899 fe:00:9979792 0 EOF\n';
  const file = { dev: 0xfe00, ino: 9_979_792 };

  it.each([
    [held, false],
    [`${held}1: -> FLOCK  ADVISORY  WRITE 30901 fe:00:9979792 0 EOF\n`, true],
    [`${held}2: -> FLOCK  ADVISORY  WRITE 30901 fe:00:1 0 EOF\n`, false],
    [`${held}2: -> FLOCK  ADVISORY  WRITE 30901 fd:00:9979792 0 EOF\n`, false],
    [`${held}2: -> POSIX  ADVISORY  WRITE 30901 fe:00:9979792 0 EOF\n`, false],
    ['', false],
  ])("a lock file with the kernel's lock table %j has a waiting process: %s", (locks, waits) => {
    expect(hasWaiter(locks, file)).toBe(waits);
  });

  it('finds the waiting process of a lock file whose device numbers have more than 8 bits', () => {
    // Major 0x103, minor 0x1ff, as the kernel encodes them in `st_dev`.
    const dev = 0x11_03_ff;
    expect(hasWaiter('1: -> FLOCK  ADVISORY  WRITE 1 103:1ff:7 0 EOF', { dev, ino: 7 })).toBe(true);
  });
});
