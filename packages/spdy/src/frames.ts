import { SpdyError } from './errors.ts';

/** Types of control frames (SPDY protocol, draft 3.1, 2.6). */
export const frameTypes = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;

/** Flag of the last frame that one end sends on a stream. */
export const FIN = 1;

/** Status codes of RST_STREAM. */
export const resets = { protocolError: 1, refusedStream: 3, cancel: 5 } as const;

/** A received frame: a whole control frame, or a piece of a data frame, as large as what has arrived. */
export type SpdyFrame =
  | { readonly kind: 'data'; readonly streamId: number; readonly payload: Buffer; readonly isEnd: boolean }
  | { readonly kind: 'control'; readonly type: number; readonly flags: number; readonly payload: Buffer };

const HEAD_BYTES = 8;
const VERSION = 3;
/**
 * Limit of a control frame. The largest ones carry header blocks, of which {@link HeaderUnpacker} accepts 64 KiB
 * unpacked.
 */
const MAX_CONTROL_BYTES = 128 * 1024;
/** Payload of one data frame that this end sends: the size of Go's copy buffer. */
const MAX_DATA_BYTES = 32 * 1024;

/** Required length of the payload per frame type, exact or as a minimum. */
const LENGTHS: ReadonlyMap<number, { readonly bytes: number; readonly isLeast?: boolean }> = new Map([
  [frameTypes.synStream, { bytes: 10, isLeast: true }],
  [frameTypes.synReply, { bytes: 4, isLeast: true }],
  [frameTypes.rstStream, { bytes: 8 }],
  [frameTypes.settings, { bytes: 4, isLeast: true }],
  [frameTypes.ping, { bytes: 4 }],
  [frameTypes.goAway, { bytes: 8 }],
  [frameTypes.headers, { bytes: 4, isLeast: true }],
  [frameTypes.windowUpdate, { bytes: 8 }],
]);

/**
 * Splits received bytes into frames. Data frames are passed on in pieces, so their length is not limited. A control
 * frame is buffered up to its limit.
 */
export class FrameReader {
  #pieces: Buffer[] = [];
  #size = 0;
  /** The data frame that is being read. */
  #data: { readonly streamId: number; readonly isLast: boolean; left: number } | undefined;

  /**
   * Yields the frames and pieces of data frames that a chunk completes. @throws SpdyError `Protocol` if the bytes are
   * not a SPDY/3.1 frame; `TooLarge` if a control frame is too long
   */
  *read(chunk: Buffer): Generator<SpdyFrame> {
    this.#pieces.push(chunk);
    this.#size += chunk.length;
    for (;;) {
      const frame = this.#data === undefined ? this.#next() : this.#piece(this.#data);
      if (frame === undefined) return;
      if (frame !== 'more') yield frame;
    }
  }

  #piece(data: { readonly streamId: number; readonly isLast: boolean; left: number }): SpdyFrame | undefined {
    if (this.#size === 0 && data.left > 0) return undefined;
    const payload = this.#take(Math.min(data.left, this.#pieces[0]?.length ?? 0));
    data.left -= payload.length;
    if (data.left === 0) this.#data = undefined;
    return { kind: 'data', streamId: data.streamId, payload, isEnd: data.isLast && data.left === 0 };
  }

  #next(): SpdyFrame | 'more' | undefined {
    if (this.#size < HEAD_BYTES) return undefined;
    const head = this.#peek(HEAD_BYTES);
    const [first, flags, length] = [head.readUInt32BE(), head[4] ?? 0, head.readUIntBE(5, 3)];
    if (first < 2 ** 31) {
      if (first === 0) throw new SpdyError('Protocol', 'data frame for stream 0');
      this.#take(HEAD_BYTES);
      this.#data = { streamId: first, isLast: (flags & FIN) !== 0, left: length };
      return 'more';
    }
    const [version, type] = [(first >>> 16) & 0x7fff, first & 0xffff];
    if (version !== VERSION) throw new SpdyError('Protocol', `frame has SPDY version ${version}`);
    if (length > MAX_CONTROL_BYTES)
      throw new SpdyError('TooLarge', `control frame has ${length} bytes, limit ${MAX_CONTROL_BYTES}`);
    const wanted = LENGTHS.get(type);
    if (wanted !== undefined && (wanted.isLeast ? length < wanted.bytes : length !== wanted.bytes)) {
      throw new SpdyError('Protocol', `frame of type ${type} has ${length} bytes`);
    }
    if (this.#size < HEAD_BYTES + length) return undefined;
    return { kind: 'control', type, flags, payload: this.#take(HEAD_BYTES + length).subarray(HEAD_BYTES) };
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
    const [first = Buffer.alloc(0)] = this.#pieces;
    if (first.length === length) this.#pieces.shift();
    else this.#pieces[0] = first.subarray(length);
    this.#size -= length;
    return taken;
  }
}

/** Returns a control frame with the given payload. */
export function controlFrame(type: number, flags: number, ...payload: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(payload);
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE((0x8000 + VERSION) * 2 ** 16 + type);
  head[4] = flags;
  head.writeUIntBE(body.length, 5, 3);
  return Buffer.concat([head, body]);
}

/** Returns the data frames that send `data` on a stream, as alternating heads and payloads. */
export function dataFrames(streamId: number, data: Uint8Array, flags: number): readonly Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at === 0 || at < data.length; at += MAX_DATA_BYTES) {
    const payload = data.subarray(at, at + MAX_DATA_BYTES);
    const head = Buffer.alloc(HEAD_BYTES);
    head.writeUInt32BE(streamId);
    head[4] = at + MAX_DATA_BYTES < data.length ? 0 : flags;
    head.writeUIntBE(payload.length, 5, 3);
    pieces.push(head);
    if (payload.length > 0) pieces.push(payload);
  }
  return pieces;
}

/** Encodes numbers as four bytes each, big-endian. */
export function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, 4 * index);
  return bytes;
}
