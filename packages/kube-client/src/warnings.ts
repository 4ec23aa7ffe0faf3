/** Matches one value of the header `Warning`: code, agent, quoted text. */
const WARNING = /(?:^|,)\s*(\d{3})\s+\S+\s+"((?:[^"\\]|\\.)*)"/g;

/** Returns the texts of a `Warning` header (RFC 7234, section 5.5) that the API server wrote (code 299, KEP-1693). */
export function parseWarnings(header: string | undefined): readonly string[] {
  if (header === undefined) return [];
  const texts = [...header.matchAll(WARNING)].map(([, code, text = '']) => ({ code, text }));
  return texts
    .filter(({ code, text }) => code === '299' && text !== '')
    .map(({ text }) => text.replace(/\\(.)/g, '$1'));
}

/** Remembers a limited number of texts, so that each is reported once. */
export class Once {
  readonly #said = new Set<string>();
  readonly #limit: number;

  /** @param limit how many texts are remembered; if there are more, the oldest is forgotten */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Records the text. Returns whether the text is new. */
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
