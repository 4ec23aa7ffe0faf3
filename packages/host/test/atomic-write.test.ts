import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { nodeFileSystem } from '../src/index.ts';

const calls = vi.hoisted(() => ({ steps: [] as string[], closeFails: false }));

vi.mock('node:fs', async (original) => {
  const real = await original<typeof import('node:fs')>();
  const close = (fd: number, done: (error: Error | null) => void): void =>
    real.close(fd, () =>
      done(calls.closeFails ? Object.assign(new Error('EIO: i/o error, close'), { code: 'EIO' }) : null),
    );
  const fsync = (fd: number, done: (error: Error | null) => void): void => {
    calls.steps.push(real.fstatSync(fd).isDirectory() ? 'directory synced' : 'file synced');
    real.fsync(fd, done);
  };
  return { ...real, close, fsync };
});

let directory: string;

beforeEach(async () => {
  Object.assign(calls, { steps: [], closeFails: false });
  directory = await mkdtemp(join(tmpdir(), 'atomic-write-'));
});

afterEach(() => rm(directory, { recursive: true }));

it('writeFileAtomic syncs the file before it replaces the old file, and the directory afterwards', async () => {
  await nodeFileSystem.writeFileAtomic(join(directory, 'state'), 'x', {
    onReplaced: () => calls.steps.push('replaced'),
  });
  expect(calls.steps).toEqual(['file synced', 'replaced', 'directory synced']);
});

it('writeFileAtomic ignores errors of close after the sync', async () => {
  const path = join(directory, 'state');
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', onUnhandled);
  calls.closeFails = true;
  try {
    await nodeFileSystem.writeFileAtomic(path, 'content');
    await new Promise((resolve) => setImmediate(resolve));
    expect(await readFile(path, 'utf8')).toBe('content');
    expect(unhandled).toEqual([]);
  } finally {
    process.off('unhandledRejection', onUnhandled);
  }
});
