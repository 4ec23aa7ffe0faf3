import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { nodeFileSystem } from '../src/index.ts';

vi.mock('node:fs', async (original) => {
  const real = await original<typeof import('node:fs')>();
  const close = (fd: number, done: (error: Error) => void): void =>
    real.close(fd, () => done(Object.assign(new Error('EIO: i/o error, close'), { code: 'EIO' })));
  return { ...real, close };
});

it('writeFileAtomic ignores errors of close after the sync', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'failed-close-'));
  const path = join(directory, 'state');
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', onUnhandled);
  try {
    await nodeFileSystem.writeFileAtomic(path, 'content');
    await new Promise((resolve) => setImmediate(resolve));
    expect(await readFile(path, 'utf8')).toBe('content');
    expect(unhandled).toEqual([]);
  } finally {
    process.off('unhandledRejection', onUnhandled);
    await rm(directory, { recursive: true });
  }
});
