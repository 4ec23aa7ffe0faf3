import type { RuntimeContainerStatus } from '@node-agent/pod-spec';
import { byPrecedence } from '../actions/current-status.ts';

/** Limits of the restart back-off. */
export interface BackOffLimits {
  /** First delay. Upstream: 10 s, or the maximum if the maximum is less. */
  readonly initialMs: number;
  /** Maximum delay. Default: 300 s; `crashLoopBackOff.maxContainerRestartPeriod` sets it from 1 s to 300 s. */
  readonly maxMs: number;
}

/** Running time after which a container no longer counts as crashing. */
export const BACKOFF_RESET_MS: number = 600_000;

type Run = Pick<
  RuntimeContainerStatus,
  'id' | 'state' | 'restartCount' | 'hash' | 'createdAtMs' | 'startedAtMs' | 'finishedAtMs'
>;

/** Returns the delay after `previousMs` (0: none so far): the initial delay, then doubled up to the maximum. */
export function nextDelay(previousMs: number, limits: BackOffLimits): number {
  return previousMs <= 0 ? Math.min(limits.initialMs, limits.maxMs) : Math.min(previousMs * 2, limits.maxMs);
}

/** Returns whether the container ran long enough to reset the back-off. */
export function ranLongEnough({ createdAtMs, startedAtMs, finishedAtMs }: Run): boolean {
  const startMs = startedAtMs || createdAtMs;
  return startMs > 0 && finishedAtMs - startMs > BACKOFF_RESET_MS;
}

/**
 * Computes the delay after the newest exit of a container from the attempts that the runtime still has. A newly started
 * kubelet calls this function, so that its own restart does not reset the back-off of crashing containers.
 *
 * After the first exit, the container is restarted without delay. Each further short run in a row doubles the delay. A
 * long run, or a run with another spec, resets the delay. Attempts without a record, before or among the consecutive
 * short runs, count as short runs.
 * @param runs all attempts of one container
 * @returns 0 if the container may start now
 */
export function delayFromRuns(runs: readonly Run[], hash: string, limits: BackOffLimits): number {
  const exited = runs.filter((run) => run.state === 'exited').sort(byPrecedence);
  const newest = exited[0];
  if (newest === undefined) return 0;
  let restarts = 0;
  let later = newest;
  for (const run of exited) {
    // Records between two attempts may be missing, if an older record was removed late. The attempts without a record
    // count as restarts too.
    const between = run === newest ? 0 : Math.max(later.restartCount - run.restartCount, 1);
    if (run.hash !== hash) return delayAfter(restarts + Math.max(between - 1, 0), limits);
    restarts += between;
    if (ranLongEnough(run)) return delayAfter(restarts, limits);
    later = run;
  }
  return delayAfter(restarts + later.restartCount, limits);
}

/** Returns the delay after this number of consecutive short runs. */
function delayAfter(restarts: number, limits: BackOffLimits): number {
  let delay = 0;
  for (let n = 0; n < restarts; n++) {
    delay = nextDelay(delay, limits);
    if (delay >= limits.maxMs) break;
  }
  return delay;
}
