import type { FileHandle, FileStat } from '@node-agent/host';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { expect, it } from 'vitest';
import { ContainerLogReader } from '../src/log-reader.ts';

const GB = 2 ** 30;
const LINE = Buffer.from(`2026-01-01T00:00:00.123456789Z stdout F ${'x'.repeat(59)}\n`);
const LINES = Buffer.alloc(LINE.length * 2000, LINE);

/** An open log file of 1 GB whose content is generated on read. The file counts the bytes that are read. */
class LargeLog implements FileHandle {
  readonly #stat: FileStat;
  bytesRead = 0;
  isClosed = false;

  constructor(stat: FileStat) {
    this.#stat = { ...stat, sizeBytes: GB };
  }

  async read(position: number, length: number): Promise<Uint8Array> {
    const at = position % LINE.length;
    const bytes = LINES.subarray(at, at + Math.min(length, Math.max(GB - position, 0)));
    this.bytesRead += bytes.length;
    return bytes;
  }

  async stat(): Promise<FileStat> {
    return this.#stat;
  }

  async append(): Promise<void> {}
  async sync(): Promise<void> {}

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

it('K4: a log of 1 GB is read no further than its consumer reads, and is closed with the reader', async () => {
  const memory = new MemoryFileSystem();
  await memory.mkdir('/logs');
  await memory.writeFile('/logs/0.log', '');
  const log = new LargeLog(await memory.stat('/logs/0.log'));
  const fs = {
    open: async () => log,
    readdir: memory.readdir.bind(memory),
    stat: memory.stat.bind(memory),
    realpath: memory.realpath.bind(memory),
    watch: memory.watch.bind(memory),
  };
  const cri = { containerStatus: async () => ({ status: null, info: {} }) };
  const output = new ContainerLogReader({ fs, cri }).readMixed('/logs/0.log', {}, new AbortController().signal);
  let taken = 0;
  for (let turn = 0; turn < 3; turn++) {
    const next = await output.next();
    if (!next.done) taken += next.value.data.length;
  }
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(taken).toBeGreaterThan(64 * 1024);
  expect(log.bytesRead).toBeLessThanOrEqual(4 * 64 * 1024);
  await output.return();
  expect(log.isClosed).toBe(true);
});
