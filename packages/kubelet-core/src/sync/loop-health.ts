const LEAST_THRESHOLD_MS = 300_000;

/**
 * What is wrong with a sync loop that was last entered `idleMs` ago; `undefined` where nothing is. It has twice the period at which
 * all pods are looked at again, and five minutes at least (`SyncLoopHealthCheck` of `pkg/kubelet/kubelet.go`).
 */
export function syncLoopFault(idleMs: number, syncFrequencyMs: number): string | undefined {
  if (idleMs <= Math.max(2 * syncFrequencyMs, LEAST_THRESHOLD_MS)) return undefined;
  return `sync Loop took longer than expected: last entered ${Math.round(idleMs / 1000)} s ago`;
}
