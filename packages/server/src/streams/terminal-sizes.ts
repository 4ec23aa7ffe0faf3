/** The size of a terminal, in characters. */
interface TerminalSize {
  readonly Width: number;
  readonly Height: number;
}

/** The maximum size of received text that is not yet parsed, in bytes. */
const MAX_TEXT_BYTES = 4096;

/**
 * Parses the terminal sizes that a client sends: consecutive JSON objects, split into arbitrary pieces. After invalid
 * data, all further data is ignored (`handleResizeEvents`, `k8s.io/apiserver/pkg/util/proxy/websocket.go`).
 */
export class TerminalSizes {
  #text = '';
  #isOver = false;

  /**
   * Parses a further piece of the client's data.
   * @returns the last complete size in the format of the runtime, because older sizes are outdated; `undefined` if the
   * piece completes no size
   */
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
  // As in Go, field names may be in any case, and missing fields are 0.
  const fields = new Map(Object.entries(value).map(([name, field]) => [name.toLowerCase(), field]));
  const [width, height] = ['width', 'height'].map((name) => fields.get(name) ?? 0);
  return isExtent(width) && isExtent(height) ? { Width: width, Height: height } : undefined;
}

function isExtent(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 16;
}
