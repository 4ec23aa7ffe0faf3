import { KubeError } from './errors.ts';
import { systemErrorOf } from './system-errors.ts';

/** The size limit of one watch event, in bytes (client-go's `streaming.NewDecoder`). */
const MAX_LINE_BYTES = 16 << 20;

/**
 * Yields the lines of a UTF-8 stream as soon as each is complete, without empty lines. The pieces of a line are joined
 * once, so that the cost is linear in its length.
 * @throws KubeError `InvalidResponse` if a line is too long; an error with the code ECONNRESET if the stream ends
 * within a line
 */
export async function* lines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number = MAX_LINE_BYTES,
): AsyncGenerator<string, void, undefined> {
  const pieces: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      pieces.push(chunk.subarray(start, end));
      start = end + 1;
      sizeBytes = 0;
      const line = decode(pieces.splice(0));
      if (line !== '') yield line;
    }
    if (start >= chunk.length) continue;
    // The incomplete last line is copied: a slice would keep the socket's whole buffer alive while the watch is quiet.
    pieces.push(new Uint8Array(chunk.subarray(start)));
    sizeBytes += chunk.length - start;
    if (sizeBytes > maxBytes) throw tooLong(`a line of the response is longer than ${maxBytes} bytes`);
  }
  if (decode(pieces) !== '') throw systemErrorOf('ECONNRESET', 'the response ended in the middle of a line');
}

function decode(pieces: readonly Uint8Array[]): string {
  return textOf(pieces).trim();
}

function whole(pieces: readonly Uint8Array[]): Buffer {
  const first = pieces[0];
  if (first === undefined || pieces.length > 1) return Buffer.concat(pieces);
  return Buffer.from(first.buffer, first.byteOffset, first.byteLength);
}

/** The text of a whole response body, and the body's size on the wire. */
export interface BodyText {
  readonly text: string;
  readonly sizeBytes: number;
}

/** A response body that can be read in one call, which costs less than reading it in chunks. */
interface WholeBody {
  text(maxBytes: number): Promise<BodyText>;
}

/** Reads a whole body as text. @throws KubeError `InvalidResponse` if the body is longer than `maxBytes` */
export function readText(chunks: AsyncIterable<Uint8Array> | WholeBody, maxBytes: number): Promise<BodyText> {
  return 'text' in chunks ? chunks.text(maxBytes) : readChunks(chunks, maxBytes);
}

async function readChunks(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<BodyText> {
  const pieces: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of chunks) {
    pieces.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > maxBytes) throw responseTooLong(maxBytes);
  }
  return { text: textOf(pieces), sizeBytes };
}

/** Decodes UTF-8 in pieces. */
export function textOf(pieces: readonly Uint8Array[]): string {
  return whole(pieces).toString('utf8');
}

/** Reads the start of a body as text, at most `maxBytes`. */
export async function readStart(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of chunks) {
    pieces.push(chunk.subarray(0, maxBytes - sizeBytes));
    sizeBytes += chunk.length;
    if (sizeBytes >= maxBytes) break;
  }
  return textOf(pieces);
}

/** Returns the error for a response that is too long. */
export function responseTooLong(maxBytes: number): KubeError {
  return tooLong(`the response is longer than ${maxBytes} bytes`);
}

function tooLong(message: string): KubeError {
  return new KubeError({ code: 'InvalidResponse', message });
}
