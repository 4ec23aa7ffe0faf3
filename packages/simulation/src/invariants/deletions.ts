import { type Invariant, invariant, judged } from './invariant.ts';

/** A sidecar that is told to stop when the grace period of its pod is over has this more; and what starts that was about to takes a while. */
const SIDECAR_MS = 2000;
const LATE_MS = 8000;

/** C5: on a healthy node nothing of a pod that is deleted runs when its grace period is over, the shortest that anybody has left it. */
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
    return { wrong: `container ${name} of pod ${podUid} runs ${agoMs} ms after its grace period was over` };
  }
  return seen ? judged(false) : undefined;
});
