import type { Random } from '@node-agent/async';

/** The time when the status was last sent, and the offset of the next report from the regular interval. */
export interface LastReport {
  /** The time of the report by the monotonic clock, so that a jump of the wall clock does not delay the next report. */
  readonly atMs: number;
  readonly delayMs: number;
}

/**
 * Reports whether a status should be sent even if it is unchanged (`kubelet_node_status.go`,
 * isUpdateStatusPeriodExpired).
 */
export function isReportDue(last: LastReport | undefined, nowMs: number, frequencyMs: number): boolean {
  return last === undefined || nowMs - last.atMs >= frequencyMs + last.delayMs;
}

/**
 * Returns the offset of the next report. After a change or the first report, the offset is random, up to half the
 * period in either direction, so that nodes that changed at the same time do not keep reporting at the same time.
 * Otherwise the offset is 0.
 */
export function nextReportDelayMs(changed: boolean, first: boolean, frequencyMs: number, random: Random): number {
  return changed || first ? frequencyMs * (random.next() - 0.5) : 0;
}
