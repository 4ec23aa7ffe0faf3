import type { Random } from '@node-agent/async';

/** When the status was sent last, and how much later or sooner than usual the next one is due. */
export interface LastReport {
  /** By the monotonic clock: a jump of the wall clock makes no report late. */
  readonly atMs: number;
  readonly delayMs: number;
}

/** Whether a status that has not changed is to be sent (`kubelet_node_status.go`, isUpdateStatusPeriodExpired). */
export function isReportDue(last: LastReport | undefined, nowMs: number, frequencyMs: number): boolean {
  return last === undefined || nowMs - last.atMs >= frequencyMs + last.delayMs;
}

/**
 * The delay of the report that follows the one being sent: after a change, or the first one, up to half the frequency to either side, so
 * that nodes that changed together do not report together ever after; then none.
 */
export function nextReportDelayMs(changed: boolean, first: boolean, frequencyMs: number, random: Random): number {
  return changed || first ? frequencyMs * (random.next() - 0.5) : 0;
}
