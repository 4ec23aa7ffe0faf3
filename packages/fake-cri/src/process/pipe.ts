/** Capacity of a Linux pipe. */
const CAPACITY_BYTES = 64 * 1024;

/** An in-memory pipe. Writers wait while the pipe is full. */
export class Pipe {
  readonly #pieces: Uint8Array[] = [];
  readonly #readers: (() => void)[] = [];
  readonly #writers: (() => void)[] = [];
  #size = 0;
  #ended = false;
  #closed = false;

  /**
   * Writes data. Resolves when the pipe has room for more data. Data that is written after the end, or after the reader
   * has closed, is dropped.
   */
  write(data: Uint8Array): Promise<void> {
    if (this.#ended || this.#closed || data.length === 0) return Promise.resolve();
    this.#pieces.push(data);
    this.#size += data.length;
    wake(this.#readers);
    if (this.#size < CAPACITY_BYTES) return Promise.resolve();
    return new Promise((resolve) => void this.#writers.push(resolve));
  }

  /** Ends the input: no more data follows. */
  end(): void {
    this.#ended = true;
    wake(this.#readers);
    wake(this.#writers);
  }

  /** Closes the reading end and discards buffered data. */
  close(): void {
    this.#closed = true;
    this.#pieces.length = 0;
    this.#size = 0;
    wake(this.#writers);
    wake(this.#readers);
  }

  /**
   * Returns the next data when data is available, or `undefined` at the end of the input.
   * @throws the signal's reason
   */
  async read(signal: AbortSignal): Promise<Uint8Array | undefined> {
    for (;;) {
      signal.throwIfAborted();
      const piece = this.#pieces.shift();
      if (piece !== undefined) {
        this.#size -= piece.length;
        if (this.#size < CAPACITY_BYTES) wake(this.#writers);
        return piece;
      }
      if (this.#ended || this.#closed) return undefined;
      await this.#something(signal);
    }
  }

  /** Puts back data that was read but not used. */
  unread(rest: Uint8Array): void {
    if (rest.length === 0 || this.#closed) return;
    this.#pieces.unshift(rest);
    this.#size += rest.length;
  }

  #something(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const settle = (): void => {
        signal.removeEventListener('abort', settle);
        resolve();
      };
      signal.addEventListener('abort', settle, { once: true });
      this.#readers.push(settle);
    });
  }
}

function wake(waiting: (() => void)[]): void {
  for (const each of waiting.splice(0)) each();
}
