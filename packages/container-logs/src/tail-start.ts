import type { FileHandle } from '@node-agent/host';
import { CHUNK_BYTES } from './compress.ts';

const NEWLINE = 0x0a;

/** Where a file's last lines begin. */
export interface TailStart {
  /** The first byte of them. */
  readonly offset: number;
  /** How many lines there are from there to the end: fewer than were asked for where the file has no more. */
  readonly lines: number;
}

/**
 * Where the last `count` lines of a file begin, looked for from its end. A last line without its newline comes on top, as
 * upstream has it (`findTailLineStartIndex`, `k8s.io/cri-client/pkg/logs`).
 */
export async function findTailStart(file: FileHandle, sizeBytes: number, count: number): Promise<TailStart> {
  let lines = 0;
  for (let right = sizeBytes; right > 0; ) {
    const left = Math.max(right - CHUNK_BYTES, 0);
    const block = await readFully(file, left, right - left);
    for (let at = block.lastIndexOf(NEWLINE); at >= 0; at = at === 0 ? -1 : block.lastIndexOf(NEWLINE, at - 1)) {
      if (lines === count) return { offset: left + at + 1, lines };
      lines++;
    }
    right = left;
  }
  return { offset: 0, lines };
}

/** How many newlines there are. */
export async function countLines(chunks: AsyncIterable<Uint8Array>): Promise<number> {
  let lines = 0;
  for await (const chunk of chunks) {
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) lines++;
  }
  return lines;
}

async function readFully(file: FileHandle, position: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const part = await file.read(position + filled, length - filled);
    if (part.length === 0) break;
    bytes.set(part, filled);
    filled += part.length;
  }
  return bytes.subarray(0, filled);
}
