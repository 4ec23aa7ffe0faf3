/** What moves a terminal's cursor, or changes the order of what is read; line ends are none of it. */
const DRAWS = /[^\P{Cc}\n]|\p{Cf}/gu;

/** Nothing of what a node says may draw on the terminal. */
export function printable(text: string): string {
  return text.replaceAll(DRAWS, '\uFFFD');
}

/** The same of JSON, which stays the same value: there, all of it but white space stands within texts. */
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
