import type { RuntimeContainerStatus } from '@node-agent/pod-spec';
import { byPrecedence } from '../actions/current-status.ts';

/** How long restarts of a crashing container are held back. */
export interface BackOffLimits {
  /** The first delay; 10 s upstream, or the maximum where that is less. */
  readonly initialMs: number;
  /** 300 s by default; `crashLoopBackOff.maxContainerRestartPeriod` sets it from 1 s to 300 s. */
  readonly maxMs: number;
}

/** A container that has run so long is no longer taken for one that crashes in a loop. */
export const BACKOFF_RESET_MS: number = 600_000;

type Run = Pick<
  RuntimeContainerStatus,
  'id' | 'state' | 'restartCount' | 'hash' | 'createdAtMs' | 'startedAtMs' | 'finishedAtMs'
>;

/** The delay after the one of `previousMs` (0: none so far): the initial one, then doubled up to the maximum. */
export function nextDelay(previousMs: number, limits: BackOffLimits): number {
  return previousMs <= 0 ? Math.min(limits.initialMs, limits.maxMs) : Math.min(previousMs * 2, limits.maxMs);
}

/** Whether the container ran long enough for its restarts to begin anew. */
export function ranLong({ createdAtMs, startedAtMs, finishedAtMs }: Run): boolean {
  const startMs = startedAtMs || createdAtMs;
  return startMs > 0 && finishedAtMs - startMs > BACKOFF_RESET_MS;
}

/**
 * The delay that holds after the newest death of a container, from the attempts that the runtime still remembers:
 * what a kubelet that has just started goes by, so that its own restart is no reason for a crashing container's.
 *
 * The first death is followed by a restart without delay, each further short run in a row doubles the delay; a long
 * run, or one of another spec, ends the row. Where the records end before the row does, or one is missing in it, the
 * attempts that nothing is known of are taken for short runs too.
 * @param runs all attempts of one container
 * @returns 0 where it may start at once
 */
export function delayFromRuns(runs: readonly Run[], hash: string, limits: BackOffLimits): number {
  const exited = runs.filter((run) => run.state === 'exited').sort(byPrecedence);
  const newest = exited[0];
  if (newest === undefined) return 0;
  let restarts = 0;
  let later = newest;
  for (const run of exited) {
    // Records may be missing between two: the one before was slow to be removed. Those attempts were restarts too.
    const between = run === newest ? 0 : Math.max(later.restartCount - run.restartCount, 1);
    if (run.hash !== hash) return delayAfter(restarts + Math.max(between - 1, 0), limits);
    restarts += between;
    if (ranLong(run)) return delayAfter(restarts, limits);
    later = run;
  }
  return delayAfter(restarts + later.restartCount, limits);
}

/** The delay after so many restarts of which each was short. */
function delayAfter(restarts: number, limits: BackOffLimits): number {
  let delay = 0;
  for (let n = 0; n < restarts; n++) {
    delay = nextDelay(delay, limits);
    if (delay >= limits.maxMs) break;
  }
  return delay;
}
