import { ConnectionError, FRAME_HEADER_BYTES, FRAME_SIZE_ERROR, MAX_FRAME_BYTES } from './frame.ts';

/** Receives each frame. `payload` is valid only during the call. */
export type OnFrame = (type: number, flags: number, streamId: number, payload: Buffer) => void;

/** Splits a stream of bytes into HTTP/2 frames. A frame that arrives in one chunk is not copied. */
export class FrameReader {
  readonly #onFrame: OnFrame;
  readonly #header: Buffer = Buffer.allocUnsafe(FRAME_HEADER_BYTES);
  /** Number of received bytes of an incomplete frame's header. */
  #headerBytes = 0;
  /** Payload of an incomplete frame. `undefined` as long as the header is incomplete. */
  #payload: Buffer | undefined;
  #payloadBytes = 0;

  constructor(onFrame: OnFrame) {
    this.#onFrame = onFrame;
  }

  /**
   * Processes a chunk, and passes each completed frame to `onFrame`.
   * @throws ConnectionError if a frame is too large; any error that `onFrame` throws
   */
  push(chunk: Buffer): void {
    let at = this.#complete(chunk);
    while (chunk.length - at >= FRAME_HEADER_BYTES) {
      const length = lengthAt(chunk, at);
      const start = at + FRAME_HEADER_BYTES;
      if (chunk.length - start < length) break;
      this.#deliver(chunk, at, chunk.subarray(start, start + length));
      at = start + length;
    }
    if (at < chunk.length) this.#keep(chunk, at);
  }

  /** Completes the frame that an earlier chunk began. Returns the number of bytes used. */
  #complete(chunk: Buffer): number {
    if (this.#headerBytes === 0) return 0;
    let at = 0;
    if (this.#payload === undefined) {
      const missing = FRAME_HEADER_BYTES - this.#headerBytes;
      const copied = chunk.copy(this.#header, this.#headerBytes, 0, missing);
      this.#headerBytes += copied;
      if (copied < missing) return copied;
      at = copied;
      this.#payload = Buffer.allocUnsafe(lengthAt(this.#header, 0));
      this.#payloadBytes = 0;
    }
    const payload = this.#payload;
    const copied = chunk.copy(payload, this.#payloadBytes, at, at + payload.length - this.#payloadBytes);
    this.#payloadBytes += copied;
    at += copied;
    if (this.#payloadBytes === payload.length) {
      this.#headerBytes = 0;
      this.#payload = undefined;
      this.#deliver(this.#header, 0, payload);
    }
    return at;
  }

  /** Stores the beginning of an incomplete frame. */
  #keep(chunk: Buffer, at: number): void {
    this.#headerBytes = chunk.copy(this.#header, 0, at, at + FRAME_HEADER_BYTES);
    if (this.#headerBytes < FRAME_HEADER_BYTES) return;
    this.#payload = Buffer.allocUnsafe(lengthAt(this.#header, 0));
    this.#payloadBytes = chunk.copy(this.#payload, 0, at + FRAME_HEADER_BYTES);
  }

  #deliver(header: Buffer, at: number, payload: Buffer): void {
    this.#onFrame(header[at + 3] ?? 0, header[at + 4] ?? 0, header.readUInt32BE(at + 5) & 0x7fff_ffff, payload);
  }
}

function lengthAt(header: Buffer, at: number): number {
  const length = header.readUIntBE(at, 3);
  if (length > MAX_FRAME_BYTES) {
    throw new ConnectionError(FRAME_SIZE_ERROR, `a frame of ${length} bytes exceeds ${MAX_FRAME_BYTES}`);
  }
  return length;
}
