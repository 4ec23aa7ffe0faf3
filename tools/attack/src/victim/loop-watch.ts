/** Measures how long the event loop stands still. */
export class LoopWatch {
  #last = performance.now();
  #longestMs = 0;

  constructor() {
    setInterval(() => this.#look(), 5).unref();
  }

  /** The longest stall since the last call, in whole milliseconds. */
  take(): number {
    this.#look();
    const longestMs = Math.round(this.#longestMs);
    this.#longestMs = 0;
    return longestMs;
  }

  #look(): void {
    const now = performance.now();
    this.#longestMs = Math.max(this.#longestMs, now - this.#last);
    this.#last = now;
  }
}
