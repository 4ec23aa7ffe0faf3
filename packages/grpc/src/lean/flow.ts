const MAX_WINDOW = 2 ** 31 - 1;

/** Bytes that may still be sent, for one stream or for the connection. Negative after the peer lowered its setting. */
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

  /** Returns false if the window exceeds HTTP/2's limit. */
  add(bytes: number): boolean {
    this.#bytes += bytes;
    return this.#bytes <= MAX_WINDOW;
  }
}

/** Bytes that the peer may still send, for one stream or for the connection. */
export class ReceiveWindow {
  readonly #size: number;
  #left: number;

  /** @param size bytes that were announced to the peer */
  constructor(size: number) {
    this.#size = size;
    this.#left = size;
  }

  /** Counts received bytes. Returns false if the peer sent more than it may. */
  take(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left >= 0;
  }

  /** Returns the bytes to be announced in a WINDOW_UPDATE: 0 until half of the window is used. */
  refill(): number {
    const used = this.#size - this.#left;
    if (used * 2 < this.#size) return 0;
    this.#left = this.#size;
    return used;
  }
}
