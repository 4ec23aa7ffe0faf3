/** The middle of the values, in order; between two, their mean. `NaN` of none. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/**
 * The value below which a part of the values lies, interpolated between neighbours. `NaN` of none.
 * @param part 0 for the smallest, 1 for the greatest
 */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * part;
  const below = sorted[Math.floor(place)];
  const above = sorted[Math.ceil(place)];
  if (below === undefined || above === undefined) return Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}
