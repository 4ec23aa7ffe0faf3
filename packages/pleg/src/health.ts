/** Input of {@link plegHealth}. */
export interface PlegActivity {
  /** Monotonic time at which the runtime last responded. `undefined` if the runtime has never responded. */
  readonly activeAtMs: number | undefined;
  readonly nowMs: number;
  /** Maximum time without a response of the runtime, in milliseconds. */
  readonly thresholdMs: number;
}

/**
 * Returns why the PLEG is unhealthy, in upstream's wording (`pkg/kubelet/pleg/generic.go`: `Healthy`). Returns
 * `undefined` if the PLEG is healthy.
 */
export function plegHealth({ activeAtMs, nowMs, thresholdMs }: PlegActivity): string | undefined {
  if (activeAtMs === undefined) return 'pleg has yet to be successful';
  const elapsedMs = nowMs - activeAtMs;
  if (elapsedMs <= thresholdMs) return undefined;
  return `pleg was last seen active ${formatDuration(elapsedMs)} ago; threshold is ${formatDuration(thresholdMs)}`;
}

/** Formats a duration as Go does, rounded to milliseconds: `3m0s`, `1h0m2.5s`, `250ms`. */
export function formatDuration(ms: number): string {
  const rounded = Math.round(ms);
  if (rounded < 1000) return rounded === 0 ? '0s' : `${rounded}ms`;
  const minutes = Math.floor(rounded / 60_000);
  const seconds = (rounded - minutes * 60_000) / 1000;
  if (minutes === 0) return `${seconds}s`;
  return minutes < 60 ? `${minutes}m${seconds}s` : `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds}s`;
}
