/** Arrival times of probes at a server, in ms of its clock, by request path. */
export type Arrivals = Readonly<Record<string, readonly number[]>>;

/**
 * Returns the deviations from the period, in ms, of all intervals between two probes of the same path. A missing probe
 * is a deviation of one period.
 */
export function periodErrors(arrivals: Arrivals, periodMs: number): readonly number[] {
  return Object.values(arrivals).flatMap((times) =>
    times.slice(1).map((atMs, index) => Math.abs(atMs - (times[index] ?? atMs) - periodMs)),
  );
}

/** Returns the number of probes. */
export function countOf(arrivals: Arrivals): number {
  return Object.values(arrivals).reduce((sum, { length }) => sum + length, 0);
}
