/** Returns the median; for an even number of values, the mean of the two middle ones. `NaN` if there are no values. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/**
 * Returns a quantile, interpolated between neighbours. `NaN` if there are no values.
 * @param part 0 for the minimum, 1 for the maximum
 */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * part;
  const below = sorted[Math.floor(place)];
  const above = sorted[Math.ceil(place)];
  if (below === undefined || above === undefined) return Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}
