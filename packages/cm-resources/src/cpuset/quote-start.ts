/** Largest number of characters of a text that an error message quotes. */
const MAX_SHOWN = 100;

/** Quotes a text for a message; a long text is cut, and its length is appended. */
export function quoteStart(text: string): string {
  if (text.length <= MAX_SHOWN) return JSON.stringify(text);
  return `${JSON.stringify(text.slice(0, MAX_SHOWN))}... (${text.length} characters)`;
}
