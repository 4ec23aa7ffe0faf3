/** Largest number of characters that a message repeats of a text. */
const MAX_SHOWN = 100;

/** Quotes a text for a message; of a long text only the start, with its length. */
export function quoteStart(text: string): string {
  if (text.length <= MAX_SHOWN) return JSON.stringify(text);
  return `${JSON.stringify(text.slice(0, MAX_SHOWN))}... (${text.length} characters)`;
}
