/** Measures stalls of the event loop. */
export class LoopWatch {
  #last = performance.now();
  #longestMs = 0;

  constructor() {
    setInterval(() => this.#look(), 5).unref();
  }

  /** Returns the longest stall since the last call, in whole milliseconds. */
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
