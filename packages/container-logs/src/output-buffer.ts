import type { LogStream } from './cri-log-line.ts';

const MIN_BYTES = 4 * 1024;

interface Piece {
  readonly stream: LogStream;
  readonly data: Uint8Array;
}

/** Puts bytes of output one behind another, those of one stream in one piece. */
export class OutputBuffer {
  readonly #mixed: boolean;
  #bytes: Buffer = Buffer.alloc(0);
  /** What is of one stream begins here, and nothing is written yet from `#end` on. */
  #start = 0;
  #end = 0;
  #stream: LogStream = 'stdout';
  #pieces: Piece[] = [];

  /** @param mixed whether bytes of both streams may be in one piece */
  constructor(mixed: boolean) {
    this.#mixed = mixed;
  }

  /** Sees to it that there is room for so many bytes. */
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
    // Of what is short, a call takes longer than the copying.
    if (length < 64) {
      const target = this.#bytes;
      let at = this.#end;
      for (let index = from; index < to; index++) target[at++] = bytes[index] as number;
    } else this.#bytes.set(bytes.subarray(from, to), this.#end);
    this.#end += length;
  }

  /** Gives what was written. */
  take(): readonly Piece[] {
    this.#cut();
    const pieces = this.#pieces;
    this.#pieces = [];
    // Whoever has them may keep them: they are not written to again.
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
