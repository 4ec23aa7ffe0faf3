/** When probes of one container come. All times by the monotonic clock, in ms. */
export interface Rhythm {
  /** An instant of the grid on which the probe is due every period. */
  readonly gridMs: number;
  readonly periodMs: number;
}

/**
 * When a probe is due after one that has ended: at the next instant of its grid, so that it does not drift; at once, where one instant
 * passed while it ran, as of Go's tickers. Of more that passed, all but one are dropped.
 */
export function nextDue(
  { gridMs, periodMs }: Rhythm,
  nowMs: number,
): { readonly dueMs: number; readonly gridMs: number } {
  if (nowMs < gridMs) return { dueMs: gridMs, gridMs };
  const passed = Math.floor((nowMs - gridMs) / periodMs);
  if (passed === 0) return { dueMs: gridMs + periodMs, gridMs: gridMs + periodMs };
  return { dueMs: nowMs, gridMs: gridMs + passed * periodMs };
}

const SHORTEST_MS = 25;
const SOON_MS = 100;
/** Of the time that a container has been known, so much passes until it is looked at again, while that is less than what is promised. */
const SOON_PART = 1 / 4;

/**
 * How long after a failed probe a container that has only just begun is looked at again, beside the grid: it is shown 100 ms, or a tenth of the
 * time that it took to begin, after it serves, whichever is longer; sooner where it begins sooner. `undefined` from where that is no sooner than its period.
 */
export function earlyRetryMs(knownForMs: number, periodMs: number): number | undefined {
  const delayMs = Math.max(SHORTEST_MS, Math.min(knownForMs * SOON_PART, Math.max(SOON_MS, knownForMs / 10)));
  return delayMs < periodMs ? delayMs : undefined;
}
