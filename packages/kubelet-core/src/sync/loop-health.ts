const MIN_THRESHOLD_MS = 300_000;

/**
 * Returns the problem of a sync loop that was last entered `idleMs` ago; `undefined` if it is healthy. The threshold is
 * twice the sync frequency, and at least five minutes (`SyncLoopHealthCheck` in `pkg/kubelet/kubelet.go`).
 */
export function syncLoopFault(idleMs: number, syncFrequencyMs: number): string | undefined {
  if (idleMs <= Math.max(2 * syncFrequencyMs, MIN_THRESHOLD_MS)) return undefined;
  return `sync Loop took longer than expected: last entered ${Math.round(idleMs / 1000)} s ago`;
}

/** Consecutive failures of one handler. */
export interface HandlerFailures {
  readonly count: number;
  /** Time of the first failure, by the monotonic clock. */
  readonly sinceMs: number;
  /** Text of the last error. */
  readonly error: string;
}

/**
 * Minimum duration and count of consecutive failures until the sync loop counts as unhealthy. A single bad item does
 * not suffice.
 */
const FAILING_MS = 60_000;
const FAILING_COUNT = 3;

/**
 * Describes the handler of the sync loop that keeps failing; `undefined` if there is none. Upstream has no such check:
 * there, a panic in a handler ends the process.
 */
export function failingHandler(failures: ReadonlyMap<string, HandlerFailures>, nowMs: number): string | undefined {
  for (const [name, { count, sinceMs, error }] of failures) {
    if (count < FAILING_COUNT || nowMs - sinceMs < FAILING_MS) continue;
    const seconds = Math.round((nowMs - sinceMs) / 1000);
    return `sync loop handler ${name} has failed ${count} times in a row for ${seconds} s: ${error}`;
  }
  return undefined;
}
