/** Reports whether `labels` contains every pair of `selector`. An empty selector matches all labels. */
export function matchesLabels(
  selector: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(selector).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
}

/** Splits `items` into arrays of at most `size` items. Yields nothing if `items` is empty. */
export function* batches<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}
