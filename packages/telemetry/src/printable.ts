/** Characters that move the cursor of a terminal or reorder text, and line breaks other than `\n`. */
const DRAWS = /[^\P{Cc}\n]|\p{Cf}|[\u2028\u2029]/gu;
/** The characters of {@link DRAWS}, and `\n`. */
const DRAWS_OR_BREAKS = /\p{Cc}|\p{Cf}|[\u2028\u2029]/gu;

/** Replaces characters with which a text of a pod or node could control the terminal by U+FFFD. `\n` is kept. */
export function printable(text: string): string {
  return text.replaceAll(DRAWS, '\uFFFD');
}

/**
 * Escapes characters that could control the terminal in JSON. The JSON value does not change, because outside of
 * whitespace such characters occur only in strings. Carriage returns, which JSON allows only as whitespace, are
 * removed; tabs are kept.
 */
export function printableJson(json: string): string {
  return json.replaceAll(DRAWS, (char) => (char === '\t' ? char : char === '\r' ? '' : unicodeEscapes(char)));
}

/**
 * Escapes line breaks and characters that could control the terminal (as `\n`, `\x1b`, `\u202e`), so that the text
 * stays on one line and shows the characters.
 */
export function printableLine(text: string): string {
  return text.replaceAll(DRAWS_OR_BREAKS, (char) => {
    if (char === '\n') return '\\n';
    if (char === '\t') return '\\t';
    if (char === '\r') return '\\r';
    const code = char.codePointAt(0) ?? 0;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : unicodeEscapes(char);
  });
}

function unicodeEscapes(char: string): string {
  return char
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
