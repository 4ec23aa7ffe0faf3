/**
 * Which of two resource versions is newer: negative where `a` is the older, 0 where they are one; `undefined` where they
 * cannot be compared, because one is not a decimal number (KEP-5504).
 */
export function compareResourceVersions(a: string, b: string): number | undefined {
  if (!/^[1-9]\d*$/.test(a) || !/^[1-9]\d*$/.test(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
