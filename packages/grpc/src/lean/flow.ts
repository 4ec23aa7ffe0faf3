const MAX_WINDOW = 2 ** 31 - 1;

/**
 * Number of bytes that may still be sent on one stream or on the connection. The number is negative after the peer
 * lowered its initial window below the bytes already sent.
 */
export class SendWindow {
  #bytes: number;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  take(bytes: number): void {
    this.#bytes -= bytes;
  }

  /** Enlarges the window. Returns false if the window then exceeds HTTP/2's limit. */
  add(bytes: number): boolean {
    this.#bytes += bytes;
    return this.#bytes <= MAX_WINDOW;
  }
}

/** Number of bytes that the peer may still send on one stream or on the connection. */
export class ReceiveWindow {
  readonly #size: number;
  #left: number;

  /** @param size number of bytes that the peer was allowed to send */
  constructor(size: number) {
    this.#size = size;
    this.#left = size;
  }

  /** Counts received bytes. Returns false if the peer sent more bytes than the window allowed. */
  take(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left >= 0;
  }

  /** Returns the number of bytes to announce in a WINDOW_UPDATE. The number is 0 until half of the window is used. */
  refill(): number {
    const used = this.#size - this.#left;
    if (used * 2 < this.#size) return 0;
    this.#left = this.#size;
    return used;
  }
}
