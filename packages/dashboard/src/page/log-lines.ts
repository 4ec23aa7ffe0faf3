/** Maximum length of a line, in characters. The rest of the line is dropped and counted. */
const MAX_LINE = 4096;

/** Splits a stream of bytes into lines, with bounded memory: a line without an end is cut. */
export class LogLines {
  readonly #decoder = new TextDecoder('utf-8', { fatal: false });
  #line = '';
  #dropped = 0;

  /** Adds bytes of the stream. Invalid UTF-8 becomes U+FFFD. @returns the lines that are complete now */
  push(bytes: Uint8Array): readonly string[] {
    const lines: string[] = [];
    const text = this.#decoder.decode(bytes, { stream: true });
    for (let from = 0; from < text.length; ) {
      const end = text.indexOf('\n', from);
      this.#add(text.slice(from, end < 0 ? text.length : end));
      if (end < 0) break;
      lines.push(this.#take());
      from = end + 1;
    }
    return lines;
  }

  /** Returns the last line if it has no end, as a list with at most one line. */
  end(): readonly string[] {
    this.#add(this.#decoder.decode());
    return this.#line === '' && this.#dropped === 0 ? [] : [this.#take()];
  }

  #add(text: string): void {
    const room = MAX_LINE - this.#line.length;
    this.#line += text.slice(0, room);
    this.#dropped += Math.max(0, text.length - room);
  }

  #take(): string {
    const line = this.#line.endsWith('\r') ? this.#line.slice(0, -1) : this.#line;
    const dropped = this.#dropped;
    this.#line = '';
    this.#dropped = 0;
    return dropped === 0 ? line : `${line} … (${dropped} more characters)`;
  }
}
