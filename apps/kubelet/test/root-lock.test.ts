import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { captureLogger } from '@node-agent/telemetry/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lockOutcome } from '../src/process/flock.ts';
import { lockRootDirectory } from '../src/process/root-lock.ts';
import { removeDirectory } from './remove-directory.ts';

let rootDir: string;

beforeEach(async () => {
  rootDir = await mkdtemp(join(tmpdir(), 'root-'));
});

afterEach(() => removeDirectory(rootDir));

describe('the lock of the root directory', () => {
  it('the lock of the root directory rejects a second kubelet with the process ID of the first, and is free after disposal', async () => {
    const { logger, lines } = captureLogger();
    const first = await lockRootDirectory({ logger }, rootDir);
    expect(await readFile(join(rootDir, 'kubelet.lock'), 'utf8')).toBe(`${process.pid}\n`);
    await expect(lockRootDirectory({ logger }, rootDir)).rejects.toThrow(
      `lock root directory ${rootDir}: another kubelet (process ${process.pid}) uses it; ` +
        'each kubelet needs its own --root-dir and --cert-dir',
    );
    await first[Symbol.asyncDispose]();
    await using _second = await lockRootDirectory({ logger }, rootDir);
    expect(lines).toEqual([]);
  });

  it('the kubelet continues with a warning if the flock program is missing', async () => {
    const { logger, lines } = captureLogger();
    const error = Object.assign(new Error('spawn flock ENOENT'), { code: 'ENOENT' });
    await using _lock = await lockRootDirectory({ logger, flock: async () => ({ error }) }, rootDir);
    expect(lines).toMatchObject([{ level: 'warn', fields: { because: 'flock program not found' } }]);
  });
});

it.each([
  [{ code: 0, stderr: '' }, { result: 'locked' }],
  [{ code: 1, stderr: '' }, { result: 'taken' }],
  [
    { code: 1, stderr: 'flock: bad\n' },
    { result: 'unknown', because: 'flock exited with 1: flock: bad' },
  ],
  [
    { code: 71, stderr: 'EX' },
    { result: 'unknown', because: 'flock exited with 71: EX' },
  ],
  [
    { code: null, stderr: '' },
    { result: 'unknown', because: 'flock exited with null: ' },
  ],
  [{ error: new Error('spawn EAGAIN') }, { result: 'unknown', because: 'spawn EAGAIN' }],
])('the result %j of flock for the root directory means %j', (end, outcome) => {
  expect(lockOutcome(end)).toEqual(outcome);
});
