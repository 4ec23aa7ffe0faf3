/** Timing of the probes of one container. Times are monotonic, in ms. */
export interface ProbeGrid {
  /** An instant of the grid on which the probe is due every period. */
  readonly gridMs: number;
  readonly periodMs: number;
}

/**
 * Returns when a probe is due after an attempt has ended: at the next instant of its grid, so that the probe does not
 * drift. If the attempt lasted beyond an instant of the grid, the probe is due immediately, like a Go ticker. If the
 * attempt lasted beyond several instants, only one attempt is made up for.
 */
export function nextDue(
  { gridMs, periodMs }: ProbeGrid,
  nowMs: number,
): { readonly dueMs: number; readonly gridMs: number } {
  if (nowMs < gridMs) return { dueMs: gridMs, gridMs };
  const passed = Math.floor((nowMs - gridMs) / periodMs);
  if (passed === 0) return { dueMs: gridMs + periodMs, gridMs: gridMs + periodMs };
  return { dueMs: nowMs, gridMs: gridMs + passed * periodMs };
}

const SHORTEST_MS = 25;
const EARLY_RETRY_MS = 100;
/**
 * Delay of the next early attempt as a fraction of the time since the container was first seen; {@link earlyRetryMs}
 * limits the delay.
 */
const EARLY_RETRY_PART = 1 / 4;

/**
 * Returns the delay before an early attempt for a container that has just started. With these delays, a container is
 * shown as ready at most 100 ms, or a tenth of its start-up time if this is longer, after it begins to serve. The
 * faster a container starts, the shorter is the delay. Returns `undefined` if the delay would not be shorter than the
 * period.
 */
export function earlyRetryMs(knownForMs: number, periodMs: number): number | undefined {
  const delayMs = Math.max(
    SHORTEST_MS,
    Math.min(knownForMs * EARLY_RETRY_PART, Math.max(EARLY_RETRY_MS, knownForMs / 10)),
  );
  return delayMs < periodMs ? delayMs : undefined;
}
