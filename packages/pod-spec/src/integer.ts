const LONGEST = 2n ** 63n;

/** A signed 64-bit integer in decimal digits; `NaN`, which is neither less nor greater than anything, for any other text. */
export function parseInt64(text: string): bigint | number {
  if (!/^[+-]?\d{1,40}$/.test(text)) return Number.NaN;
  const value = BigInt(text);
  return value >= -LONGEST && value < LONGEST ? value : Number.NaN;
}
