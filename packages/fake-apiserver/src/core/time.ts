/** Formats a time as `metav1.Time`, with a precision of one second. */
export function timestamp(ms: number): string {
  return `${new Date(Math.floor(ms / 1000) * 1000).toISOString().slice(0, 19)}Z`;
}

/** Parses a `metav1.Time` to milliseconds. Returns `undefined` if the value is not a time. */
export function parseTimestamp(value: unknown): number | undefined {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
