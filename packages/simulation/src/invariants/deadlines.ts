import type { Facts } from '../facts/facts.ts';
import { longestHooksMs, type PodPlan } from '../scenario/plans.ts';
import { type Invariant, invariant, judged } from './invariant.ts';

const REASON = 'DeadlineExceeded';
/** It is looked for each second; a container that starts just then takes a while to, and a sidecar ends after the others. */
const LATE_MS = 15_000;

/** C6: on a healthy node nothing of a pod runs that is over its deadline and had its time to end. */
export const deadlinesAreKept: Invariant = invariant('C6', ['health'], () => (observation, facts) => {
  if (!facts.kubeletUp || facts.firstFaultAtMs <= observation.atMs) return undefined;
  const isDue = facts.lives.running.some(({ podUid }) => facts.deadlines.overAtMs(podUid) < facts.nowMs);
  return isDue ? judged(overdue(facts)) : undefined;
});

/** C6: no pod is said to be over its deadline before it is. */
export const deadlinesAreReached: Invariant = invariant('C6', ['status'], () => (observation, facts) => {
  const { pod, status } = observation.status;
  if (status.reason !== REASON) return undefined;
  const { uid } = pod.metadata;
  if (status.phase !== 'Failed') return { wrong: `pod ${uid} is over its deadline, and ${status.phase}` };
  return judged(!facts.deadlines.mayBeOver(uid) && `pod ${uid} is said to be over its deadline, and is not`);
});

/** What runs though the deadline of its pod is over for long. */
export function overdue(facts: Facts): string | undefined {
  for (const { podUid, name } of facts.lives.running) {
    const pod = facts.pods.wanted.get(podUid);
    if (pod === undefined || waits(pod) || facts.pods.isUnsure(podUid)) continue;
    const agoMs = facts.nowMs - facts.deadlines.overAtMs(podUid);
    if (agoMs > pod.graceSeconds * 1000 + LATE_MS) {
      return `container ${name} of pod ${podUid} runs ${agoMs} ms after its deadline`;
    }
  }
  return undefined;
}

/** Whether a sync of the pod may take long: that is not broken off for the deadline. */
function waits(pod: PodPlan): boolean {
  const { foreign, objects, disks, devices, containers } = pod;
  const isSlow = containers.some(({ slowImage }) => slowImage === true) || longestHooksMs(pod) > 0;
  return foreign === true || objects !== undefined || disks !== undefined || devices !== undefined || isSlow;
}
