/** What a pattern is refused for, in Go's words. */
export class PatternError extends Error {
  constructor(what: string, where: string) {
    super(`${what}: \`${where}\``);
    this.name = 'PatternError';
  }
}

/** The first letter of a text, be it of two code units. */
export function firstOf(text: string): string {
  const code = text.codePointAt(0);
  return code === undefined ? '' : String.fromCodePoint(code);
}
