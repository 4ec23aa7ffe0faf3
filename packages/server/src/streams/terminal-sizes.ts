/** How large a terminal is, in characters. */
interface TerminalSize {
  readonly Width: number;
  readonly Height: number;
}

/** What a client says, at most, at once, with what is no whole size yet. */
const MAX_TEXT_BYTES = 4096;

/**
 * Reads what a client says of its terminal's size: objects of JSON, one after another, in whatever pieces. What is no size ends
 * that: nothing is read any more (`handleResizeEvents`, `k8s.io/apiserver/pkg/util/proxy/websocket.go`).
 */
export class TerminalSizes {
  #text = '';
  #isOver = false;

  /** @returns the last size that is whole now, as a runtime reads it: a terminal has one, however many come at once; nothing where none is */
  read(piece: Uint8Array): string | undefined {
    if (this.#isOver) return undefined;
    if (this.#text.length + piece.length > MAX_TEXT_BYTES) {
      this.#isOver = true;
      this.#text = '';
      return undefined;
    }
    this.#text += Buffer.from(piece).toString('latin1');
    let last: TerminalSize | undefined;
    for (let end = this.#text.indexOf('}'); end >= 0 && !this.#isOver; end = this.#text.indexOf('}')) {
      const size = sizeOf(this.#text.slice(0, end + 1));
      this.#text = this.#text.slice(end + 1);
      if (size === undefined) this.#isOver = true;
      else last = size;
    }
    if (this.#isOver) this.#text = '';
    return last && `${JSON.stringify(last)}\n`;
  }
}

function sizeOf(text: string): TerminalSize | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  // Go takes names of any case, and 0 for what is not there.
  const fields = new Map(Object.entries(value).map(([name, field]) => [name.toLowerCase(), field]));
  const [width, height] = ['width', 'height'].map((name) => fields.get(name) ?? 0);
  return isExtent(width) && isExtent(height) ? { Width: width, Height: height } : undefined;
}

function isExtent(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 16;
}
