/** A value of the header `Warning` with the code that Kubernetes uses (299). */
const WARNING = /(?:^|,)\s*(\d{3})\s+\S+\s+"((?:[^"\\]|\\.)*)"/g;

/** The texts of a `Warning` header (RFC 7234, section 5.5), as far as the API server wrote them (code 299, KEP-1693). */
export function parseWarnings(header: string | undefined): readonly string[] {
  if (header === undefined) return [];
  const texts = [...header.matchAll(WARNING)].map(([, code, text = '']) => ({ code, text }));
  return texts
    .filter(({ code, text }) => code === '299' && text !== '')
    .map(({ text }) => text.replace(/\\(.)/g, '$1'));
}

/** Remembers what was said, up to a number of texts, so that it is said once. */
export class Once {
  readonly #said = new Set<string>();
  readonly #limit: number;

  /** @param limit how many texts it remembers; the oldest is forgotten beyond that */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether this is the first time. */
  first(text: string): boolean {
    if (this.#said.has(text)) return false;
    this.#said.add(text);
    for (const oldest of this.#said) {
      if (this.#said.size <= this.#limit) break;
      this.#said.delete(oldest);
    }
    return true;
  }
}
