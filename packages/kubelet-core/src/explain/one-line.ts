/**
 * Returns the text on one line, without control characters: texts of pods and containers are untrusted and must not
 * control the terminal.
 */
export function oneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ').replaceAll(/[\p{Cc}\p{Cf}]/gu, '\uFFFD');
}

/**
 * Minimum length of a repeated text that is replaced. Shorter texts, such as names, reasons and paths, may be printed
 * again.
 */
const MIN_REPEATED = 48;

/**
 * Replaces long parts of `text` that were already printed in `printed` by `(as above)`. For example, an image error of 230
 * characters appears in a status, a step and two events, but is printed once.
 */
export function withoutRepeats(text: string, printed: string): string {
  for (let from = 0; from + MIN_REPEATED <= text.length; from += 1) {
    // A repetition starts at a word, not at the separator before the word.
    if (/[\s:;,]/.test(text[from] ?? '') || !printed.includes(text.slice(from, from + MIN_REPEATED))) continue;
    let to = from + MIN_REPEATED;
    while (to < text.length && printed.includes(text.slice(from, to + 1))) to += 1;
    return `${text.slice(0, from)}(as above)${withoutRepeats(text.slice(to), printed)}`;
  }
  return text;
}
