/** Three digits that matter; whole numbers as they are. Empty where there is none. */
export function rounded(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return '';
  const size = Math.abs(value);
  return value.toFixed(size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : 2);
}
