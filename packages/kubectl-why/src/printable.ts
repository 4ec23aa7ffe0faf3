/** Characters that move the cursor of a terminal or reorder text. Line breaks are allowed. */
const DRAWS = /[^\P{Cc}\n]|\p{Cf}/gu;

/** Replaces characters with which a node's output could draw on the terminal. */
export function printable(text: string): string {
  return text.replaceAll(DRAWS, '\uFFFD');
}

/** Escapes such characters in JSON without changing its value: outside of whitespace they occur only in strings. */
export function printableJson(json: string): string {
  return json.replaceAll(DRAWS, (char) =>
    char === '\t' || char === '\r'
      ? char
      : char
          .split('')
          .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
          .join(''),
  );
}
