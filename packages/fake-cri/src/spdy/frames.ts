import { SpdyError } from './spdy-error.ts';

/** The frames of control that these connections send or act on, by type (SPDY protocol, draft 3.1, 2.6). */
export const frameTypes = { synStream: 1, synReply: 2, rstStream: 3, ping: 6, goAway: 7 } as const;

/** The other end has nothing more to say on this stream. */
export const FIN = 1;

/** Why a stream is reset. */
export const resets = { protocolError: 1, cancel: 5 } as const;

/** A frame as it comes. */
export type SpdyFrame =
  | { readonly kind: 'data'; readonly streamId: number; readonly flags: number; readonly payload: Buffer }
  | { readonly kind: 'control'; readonly type: number; readonly flags: number; readonly payload: Buffer };

const HEAD_BYTES = 8;
const VERSION = 3;
const MAX_FRAME_BYTES = 1024 * 1024;
/** What one frame of data holds: as much as Go copies at once. */
const MAX_DATA_BYTES = 32 * 1024;

/** Takes bytes as they come and gives frames. */
export class FrameReader {
  #pieces: Buffer[] = [];
  #size = 0;

  /** @throws SpdyError for what is no frame of SPDY/3.1, or one too large */
  *read(chunk: Buffer): Generator<SpdyFrame> {
    this.#pieces.push(chunk);
    this.#size += chunk.length;
    for (;;) {
      if (this.#size < HEAD_BYTES) return;
      const head = this.#peek(HEAD_BYTES);
      const length = head.readUIntBE(5, 3);
      const first = head.readUInt32BE();
      const isControl = first >= 2 ** 31;
      if (isControl && ((first >>> 16) & 0x7fff) !== VERSION) throw new SpdyError('a frame of another version');
      if (length > MAX_FRAME_BYTES) throw new SpdyError(`a frame of ${length} bytes`);
      if (this.#size < HEAD_BYTES + length) return;
      const payload = this.#take(HEAD_BYTES + length).subarray(HEAD_BYTES);
      const flags = head[4] ?? 0;
      yield isControl
        ? { kind: 'control', type: first & 0xffff, flags, payload }
        : { kind: 'data', streamId: first, flags, payload };
    }
  }

  #peek(length: number): Buffer {
    const [first] = this.#pieces;
    if (first !== undefined && first.length >= length) return first.subarray(0, length);
    const all = Buffer.concat(this.#pieces);
    this.#pieces = [all];
    return all.subarray(0, length);
  }

  #take(length: number): Buffer {
    const taken = this.#peek(length);
    const [first = Buffer.alloc(0), ...rest] = this.#pieces;
    this.#pieces = first.length === length ? rest : [first.subarray(length), ...rest];
    this.#size -= length;
    return taken;
  }
}

/** A frame of control. */
export function controlFrame(type: number, flags: number, ...payload: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(payload);
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE((0x8000 + VERSION) * 2 ** 16 + type);
  head[4] = flags;
  head.writeUIntBE(body.length, 5, 3);
  return Buffer.concat([head, body]);
}

/** The frames that say `data` on a stream. */
export function dataFrames(streamId: number, data: Uint8Array, flags: number): Buffer {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at === 0 || at < data.length; at += MAX_DATA_BYTES) {
    const payload = data.subarray(at, at + MAX_DATA_BYTES);
    const head = Buffer.alloc(HEAD_BYTES);
    head.writeUInt32BE(streamId);
    head[4] = at + MAX_DATA_BYTES < data.length ? 0 : flags;
    head.writeUIntBE(payload.length, 5, 3);
    pieces.push(head, payload);
  }
  return Buffer.concat(pieces);
}

/** Numbers of four bytes each. */
export function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, 4 * index);
  return bytes;
}
