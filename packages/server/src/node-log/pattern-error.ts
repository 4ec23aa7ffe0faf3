/** A syntax error in a pattern, with Go's message. */
export class PatternError extends Error {
  constructor(what: string, where: string) {
    super(`${what}: \`${where}\``);
    this.name = 'PatternError';
  }
}

/** Returns the first character of a text, which may consist of two UTF-16 code units. */
export function firstOf(text: string): string {
  const code = text.codePointAt(0);
  return code === undefined ? '' : String.fromCodePoint(code);
}
