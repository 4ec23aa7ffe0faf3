/** Serializes JSON as Go does: `<`, `>`, `&` and the two Unicode line separators are escaped. */
export function goJson(value: object | string): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
