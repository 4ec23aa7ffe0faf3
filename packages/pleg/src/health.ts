/** What {@link plegHealth} judges. */
export interface PlegActivity {
  /** When the runtime was last known to answer, by the monotonic clock; `undefined` where it never has. */
  readonly activeAtMs: number | undefined;
  readonly nowMs: number;
  /** How long it may be silent, in milliseconds. */
  readonly thresholdMs: number;
}

/** `undefined` where all is well, else what is wrong, in upstream's words (`Healthy` of `pkg/kubelet/pleg/generic.go`). */
export function plegHealth({ activeAtMs, nowMs, thresholdMs }: PlegActivity): string | undefined {
  if (activeAtMs === undefined) return 'pleg has yet to be successful';
  const elapsedMs = nowMs - activeAtMs;
  if (elapsedMs <= thresholdMs) return undefined;
  return `pleg was last seen active ${formatDuration(elapsedMs)} ago; threshold is ${formatDuration(thresholdMs)}`;
}

/** A duration as Go prints it, to the millisecond: `3m0s`, `1h0m2.5s`, `250ms`. */
export function formatDuration(ms: number): string {
  const rounded = Math.round(ms);
  if (rounded < 1000) return rounded === 0 ? '0s' : `${rounded}ms`;
  const minutes = Math.floor(rounded / 60_000);
  const seconds = (rounded - minutes * 60_000) / 1000;
  if (minutes === 0) return `${seconds}s`;
  return minutes < 60 ? `${minutes}m${seconds}s` : `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds}s`;
}
