/**
 * Compares two resource versions (KEP-5504): negative if `a` is older, 0 if they are equal. Returns `undefined` if one
 * of them is not a decimal number.
 */
export function compareResourceVersions(a: string, b: string): number | undefined {
  if (!/^[1-9]\d*$/.test(a) || !/^[1-9]\d*$/.test(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
