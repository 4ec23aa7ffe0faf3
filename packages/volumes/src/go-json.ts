/**
 * Returns JSON text byte for byte as Go's `encoding/json` writes a map of strings: with sorted keys, and with
 * characters escaped that are special in HTML.
 */
export function goJson(map: Readonly<Record<string, string | undefined>>): string {
  const fields = Object.entries(map).filter(([, value]) => value !== undefined);
  const sorted = Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : 1)));
  return JSON.stringify(sorted).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
