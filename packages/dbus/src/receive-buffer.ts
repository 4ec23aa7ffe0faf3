/** So much is kept for what comes next when all has been taken. */
const KEPT_BYTES = 64 * 1024;

/** Bytes as they arrive, in whatever pieces: each is copied a bounded number of times, however small the pieces are. */
export class ReceiveBuffer {
  #bytes: Buffer = Buffer.alloc(0);
  #from = 0;
  #to = 0;

  /** How many there are. */
  get length(): number {
    return this.#to - this.#from;
  }

  add(piece: Uint8Array): void {
    const needed = this.length + piece.length;
    if (this.#to + piece.length > this.#bytes.length) this.#makeRoom(needed);
    this.#bytes.set(piece, this.#to);
    this.#to += piece.length;
  }

  /** The first of them, for as long as nothing is added or dropped. */
  peek(length: number = this.length): Buffer {
    return this.#bytes.subarray(this.#from, this.#from + Math.min(length, this.length));
  }

  /** The first `length` bytes, as long as there are so many. */
  drop(length: number): void {
    this.#from += Math.min(length, this.length);
    if (this.#from < this.#to) return;
    this.#from = 0;
    this.#to = 0;
    if (this.#bytes.length > KEPT_BYTES) this.#bytes = Buffer.alloc(0);
  }

  /** What is there moves to the front only where that makes as much room as it costs. */
  #makeRoom(needed: number): void {
    const old = this.peek();
    if (needed > this.#bytes.length / 2) this.#bytes = Buffer.alloc(2 * needed);
    old.copy(this.#bytes);
    this.#to = old.length;
    this.#from = 0;
  }
}
