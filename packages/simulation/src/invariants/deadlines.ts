import type { Facts } from '../facts/facts.ts';
import { longestHooksMs, type PodPlan } from '../scenario/plans.ts';
import { type Invariant, invariant, judged } from './invariant.ts';

const REASON = 'DeadlineExceeded';
/**
 * Maximum time for which a container may run beyond its deadline and grace period. The kubelet checks deadlines every
 * second, a start in progress takes time, and sidecars are stopped last.
 */
const LATE_MS = 15_000;

/** C6: on a healthy node, no container of a pod runs after the pod's deadline and grace period. */
export const deadlinesAreKept: Invariant = invariant('C6', ['health'], () => (observation, facts) => {
  if (!facts.kubeletUp || facts.firstFaultAtMs <= observation.atMs) return undefined;
  const isDue = facts.lives.running.some(({ podUid }) => facts.deadlines.overAtMs(podUid) < facts.nowMs);
  return isDue ? judged(overdue(facts)) : undefined;
});

/** C6: no pod is reported as over its deadline before the deadline. */
export const deadlinesAreReached: Invariant = invariant('C6', ['status'], () => (observation, facts) => {
  const { pod, status } = observation.status;
  if (status.reason !== REASON) return undefined;
  const { uid } = pod.metadata;
  if (status.phase !== 'Failed') return { wrong: `pod ${uid} is over its deadline but has phase ${status.phase}` };
  return judged(!facts.deadlines.mayBeOver(uid) && `pod ${uid} is reported as over its deadline too early`);
});

/** Returns a container that is running long after its pod's deadline. */
export function overdue(facts: Facts): string | undefined {
  for (const { podUid, name } of facts.lives.running) {
    const pod = facts.pods.wanted.get(podUid);
    if (pod === undefined || waits(pod) || facts.pods.isUnsure(podUid)) continue;
    const agoMs = facts.nowMs - facts.deadlines.overAtMs(podUid);
    if (agoMs > pod.graceSeconds * 1000 + LATE_MS) {
      return `container ${name} of pod ${podUid} is running ${agoMs} ms after its deadline`;
    }
  }
  return undefined;
}

/** Reports whether a sync of the pod may take long. A running sync is not interrupted for the deadline. */
function waits(pod: PodPlan): boolean {
  const { foreign, objects, disks, devices, containers, csi, inlineCsi } = pod;
  const isSlow = containers.some(({ slowImage }) => slowImage === true) || longestHooksMs(pod) > 0;
  return (
    foreign === true ||
    objects !== undefined ||
    disks !== undefined ||
    devices !== undefined ||
    csi !== undefined ||
    inlineCsi !== undefined ||
    isSlow
  );
}
