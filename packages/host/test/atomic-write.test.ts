import type * as NodeFs from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import type { FileSystem } from '../src/index.ts';

const calls = { steps: [] as string[], closeFails: false };
let nodeFileSystem: FileSystem;

// The files of a package share their workers, so the module may have been imported already with the real `node:fs`.
beforeAll(async () => {
  const real = await vi.importActual<typeof NodeFs>('node:fs');
  const close = (fd: number, done: (error: Error | null) => void): void =>
    real.close(fd, () =>
      done(calls.closeFails ? Object.assign(new Error('EIO: i/o error, close'), { code: 'EIO' }) : null),
    );
  const fsync = (fd: number, done: (error: Error | null) => void): void => {
    calls.steps.push(real.fstatSync(fd).isDirectory() ? 'directory synced' : 'file synced');
    real.fsync(fd, done);
  };
  vi.resetModules();
  vi.doMock('node:fs', () => ({ ...real, close, fsync }));
  ({ nodeFileSystem } = await import('../src/index.ts'));
});

afterAll(() => {
  vi.doUnmock('node:fs');
  vi.resetModules();
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
