import { type Invariant, invariant, judged } from './invariant.ts';

/**
 * Additional time of a sidecar that is stopped after the grace period, and tolerance for starts that are in progress.
 */
const SIDECAR_MS = 2000;
const LATE_MS = 8000;

/** C5: on a healthy node, no container of a deleted pod runs after the shortest requested grace period. */
export const graceIsKept: Invariant = invariant('C5', ['health'], () => (observation, facts) => {
  const { deletions, lives, nowMs, kubeletStartedAtMs } = facts;
  if (!facts.kubeletUp || facts.firstFaultAtMs <= observation.atMs) return undefined;
  let seen = false;
  for (const { podUid, name } of lives.running) {
    const dueAtMs = deletions.dueAtMs(podUid);
    if (dueAtMs > nowMs || kubeletStartedAtMs >= deletions.askedAtMs(podUid)) continue;
    seen = true;
    const agoMs = nowMs - dueAtMs;
    if (agoMs < SIDECAR_MS + LATE_MS) continue;
    return { wrong: `container ${name} of pod ${podUid} is running ${agoMs} ms after its grace period was over` };
  }
  return seen ? judged(false) : undefined;
});
