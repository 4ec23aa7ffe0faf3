/** Collects trace events up to a size limit. */
export class TraceEvents {
  readonly #maxBytes: number;
  readonly #events: string[] = [];
  #bytes = 0;
  #leftOut = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(events: readonly object[]): void {
    for (const event of events) {
      const text = JSON.stringify(event);
      this.#bytes += text.length + 1;
      if (this.#bytes > this.#maxBytes) this.#leftOut++;
      else this.#events.push(text);
    }
  }

  /** Returns Chrome's trace event format, which Perfetto and browsers' developer tools read. */
  json(): Uint8Array {
    const leftOut = this.#leftOut === 0 ? '' : `,"otherData":{"eventsLeftOut":${this.#leftOut}}`;
    return Buffer.from(`{"traceEvents":[\n${this.#events.join(',\n')}\n]${leftOut}}\n`);
  }
}
