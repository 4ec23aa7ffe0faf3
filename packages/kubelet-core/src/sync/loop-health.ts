const LEAST_THRESHOLD_MS = 300_000;

/**
 * What is wrong with a sync loop that was last entered `idleMs` ago; `undefined` where nothing is. It has twice the period at which
 * all pods are looked at again, and five minutes at least (`SyncLoopHealthCheck` of `pkg/kubelet/kubelet.go`).
 */
export function syncLoopFault(idleMs: number, syncFrequencyMs: number): string | undefined {
  if (idleMs <= Math.max(2 * syncFrequencyMs, LEAST_THRESHOLD_MS)) return undefined;
  return `sync Loop took longer than expected: last entered ${Math.round(idleMs / 1000)} s ago`;
}

/** Failures of one handler in a row. */
export interface HandlerFailures {
  readonly count: number;
  /** When the first of them was, by the monotonic clock. */
  readonly sinceMs: number;
  /** The text of the last error. */
  readonly error: string;
}

/** A handler may fail for so long, and so often, before the loop counts as broken: one bad item is not enough. */
const FAILING_MS = 60_000;
const FAILING_COUNT = 3;

/**
 * Names the handler of the sync loop that keeps failing; `undefined` if there is none. Upstream has no such check: an error in a handler
 * there ends the process by a panic.
 */
export function failingHandler(failures: ReadonlyMap<string, HandlerFailures>, nowMs: number): string | undefined {
  for (const [name, { count, sinceMs, error }] of failures) {
    if (count < FAILING_COUNT || nowMs - sinceMs < FAILING_MS) continue;
    const seconds = Math.round((nowMs - sinceMs) / 1000);
    return `sync loop handler ${name} has failed ${count} times in a row for ${seconds} s: ${error}`;
  }
  return undefined;
}
