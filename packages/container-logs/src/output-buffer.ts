import type { LogStream } from './cri-log-line.ts';

const MIN_BYTES = 4 * 1024;

interface Piece {
  readonly stream: LogStream;
  readonly data: Uint8Array;
}

/** Collects output bytes; consecutive bytes of one stream form one piece. */
export class OutputBuffer {
  readonly #mixed: boolean;
  #bytes: Buffer = Buffer.alloc(0);
  /** Start of the piece of the current stream; the buffer is unused from `#end` on. */
  #start = 0;
  #end = 0;
  #stream: LogStream = 'stdout';
  #pieces: Piece[] = [];

  /** Creates an empty buffer. @param mixed whether a piece may contain bytes of both streams */
  constructor(mixed: boolean) {
    this.#mixed = mixed;
  }

  /** Makes sure that there is room for the given number of bytes. */
  reserve(length: number): void {
    if (this.#end + length > this.#bytes.length) this.#makeRoom(length);
  }

  write(stream: LogStream, bytes: Uint8Array, from: number, to: number): void {
    if (stream !== this.#stream) {
      if (!this.#mixed) this.#cut();
      this.#stream = stream;
    }
    const length = to - from;
    this.reserve(length);
    // For few bytes, a call of `set` takes longer than copying them in a loop.
    if (length < 64) {
      const target = this.#bytes;
      let at = this.#end;
      for (let index = from; index < to; index++) target[at++] = bytes[index] as number;
    } else this.#bytes.set(bytes.subarray(from, to), this.#end);
    this.#end += length;
  }

  /** Returns and removes the collected pieces. */
  take(): readonly Piece[] {
    this.#cut();
    const pieces = this.#pieces;
    this.#pieces = [];
    // The caller may keep the pieces, so their memory is not reused.
    this.#bytes = this.#bytes.subarray(this.#end);
    this.#start = 0;
    this.#end = 0;
    return pieces;
  }

  #cut(): void {
    if (this.#end > this.#start) {
      this.#pieces.push({ stream: this.#stream, data: this.#bytes.subarray(this.#start, this.#end) });
    }
    this.#start = this.#end;
  }

  #makeRoom(length: number): void {
    const begun = this.#bytes.subarray(this.#start, this.#end);
    const larger = Buffer.allocUnsafeSlow(Math.max(MIN_BYTES, begun.length + length + begun.length));
    larger.set(begun);
    this.#bytes = larger;
    this.#start = 0;
    this.#end = begun.length;
  }
}
