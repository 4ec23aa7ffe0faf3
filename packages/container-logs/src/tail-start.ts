import type { FileHandle } from '@node-agent/host';
import { CHUNK_BYTES } from './compress.ts';

const NEWLINE = 0x0a;

/** Start of the last lines of a file. */
export interface TailStart {
  /** Offset of the first byte of the lines. */
  readonly offset: number;
  /** Number of lines from the offset to the end; less than requested if the file has fewer lines. */
  readonly lines: number;
}

/**
 * Finds the start of the last `count` lines of a file by searching backwards from its end. A last line without a
 * newline is included in addition, as in upstream (`findTailLineStartIndex`, `k8s.io/cri-client/pkg/logs`).
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

/** Returns the number of newlines. */
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
