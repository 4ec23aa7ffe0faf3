import type { Random } from '@node-agent/async';

/** When the status was last sent, and the offset of the next report. */
export interface LastReport {
  /** By the monotonic clock, so that a jump of the wall clock does not delay a report. */
  readonly atMs: number;
  readonly delayMs: number;
}

/** Returns whether an unchanged status should be sent (`kubelet_node_status.go`, isUpdateStatusPeriodExpired). */
export function isReportDue(last: LastReport | undefined, nowMs: number, frequencyMs: number): boolean {
  return last === undefined || nowMs - last.atMs >= frequencyMs + last.delayMs;
}

/**
 * Returns the offset of the next report. After a change or the first report it is random, up to half the period in
 * either direction, so that nodes that changed together do not keep reporting together; otherwise 0.
 */
export function nextReportDelayMs(changed: boolean, first: boolean, frequencyMs: number, random: Random): number {
  return changed || first ? frequencyMs * (random.next() - 0.5) : 0;
}
