const LONGEST = 2n ** 63n;

/**
 * Parses a signed 64-bit integer in decimal digits. Returns `NaN`, which compares as neither less nor greater, for any
 * other text.
 */
export function parseInt64(text: string): bigint | number {
  if (!/^[+-]?\d{1,40}$/.test(text)) return Number.NaN;
  const value = BigInt(text);
  return value >= -LONGEST && value < LONGEST ? value : Number.NaN;
}
