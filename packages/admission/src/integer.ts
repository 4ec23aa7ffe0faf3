const LONGEST = 2n ** 63n;

/** A signed 64-bit integer in decimal digits; `undefined` for any other text. */
export function parseInt64(text: string): bigint | undefined {
  if (!/^[+-]?\d{1,40}$/.test(text)) return undefined;
  const value = BigInt(text.replace('+', ''));
  return value >= -LONGEST && value < LONGEST ? value : undefined;
}
