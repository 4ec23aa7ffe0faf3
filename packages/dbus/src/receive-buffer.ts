/** The buffer size that is kept when all data has been consumed. */
const KEPT_BYTES = 64 * 1024;

/** Buffers received bytes. Each byte is copied a bounded number of times, however small the received pieces are. */
export class ReceiveBuffer {
  #bytes: Buffer = Buffer.alloc(0);
  #from = 0;
  #to = 0;

  /** The number of buffered bytes. */
  get length(): number {
    return this.#to - this.#from;
  }

  add(piece: Uint8Array): void {
    const needed = this.length + piece.length;
    if (this.#to + piece.length > this.#bytes.length) this.#makeRoom(needed);
    this.#bytes.set(piece, this.#to);
    this.#to += piece.length;
  }

  /** Returns the first bytes. The result is valid until bytes are added or dropped. */
  peek(length: number = this.length): Buffer {
    return this.#bytes.subarray(this.#from, this.#from + Math.min(length, this.length));
  }

  /** Drops the first `length` bytes, or all if there are fewer. */
  drop(length: number): void {
    this.#from += Math.min(length, this.length);
    if (this.#from < this.#to) return;
    this.#from = 0;
    this.#to = 0;
    if (this.#bytes.length > KEPT_BYTES) this.#bytes = Buffer.alloc(0);
  }

  /**
   * Moves the data to the front only if this frees at least as much as it copies; otherwise allocates a larger buffer.
   */
  #makeRoom(needed: number): void {
    const old = this.peek();
    if (needed > this.#bytes.length / 2) this.#bytes = Buffer.alloc(2 * needed);
    old.copy(this.#bytes);
    this.#to = old.length;
    this.#from = 0;
  }
}
