/** Control characters, and characters that change the direction or the lines of the text around them. */
const UNSAFE = /[\p{Cc}\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069\uFEFF]/gu;

/**
 * Makes a text of a pod readable on one line. A character that could hide or reorder other text is shown by its code,
 * as in `‹202E›`. The page sets every text by `textContent`, so markup needs no escaping.
 */
export function plain(text: string): string {
  return text.replace(UNSAFE, (character) => {
    if (character === '\t' || character === '\n') return ' ';
    return `‹${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}›`;
  });
}
