/** When probes came to a server, in milliseconds of its clock, by the path that they asked for. */
export type Arrivals = Readonly<Record<string, readonly number[]>>;

/** By how much each time between two probes of the same path differs from the period, in milliseconds; one that is left out is a whole period. */
export function periodErrors(arrivals: Arrivals, periodMs: number): readonly number[] {
  return Object.values(arrivals).flatMap((times) =>
    times.slice(1).map((atMs, index) => Math.abs(atMs - (times[index] ?? atMs) - periodMs)),
  );
}

/** How many probes there were. */
export function countOf(arrivals: Arrivals): number {
  return Object.values(arrivals).reduce((sum, { length }) => sum + length, 0);
}
