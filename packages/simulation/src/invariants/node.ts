import type { Facts } from '../facts/facts.ts';
import type { LastLook, Observation } from '../observation.ts';
import { findPlan, type PodPlan } from '../scenario/plans.ts';
import { OUTSIDE_DIRECTORY } from '../world/world.ts';
import { type Invariant, invariant, type Judgement, judged } from './invariant.ts';

/** The runtime may be silent for 30 s before it counts as away. */
const NOTICED_MS = 45_000;
/** A pod on a healthy node starts within this time, whatever its neighbours do. */
const PROMPT_MS = 18_000;

/** K2: a runtime that is away is reported. */
export const runtimeIsReported: Invariant = invariant('K2', ['health'], () => (observation, facts) => {
  if (observation.kind !== 'health' || facts.runtimeUp) return undefined;
  const sinceMs = Math.max(facts.runtimeChangedAtMs, facts.kubeletStartedAtMs);
  if (observation.atMs - sinceMs < NOTICED_MS) return undefined;
  return judged(observation.runtime === undefined && 'the runtime is away, and the kubelet calls itself healthy');
});

/** F4: the kubelet knows each static pod by the UID that its manifest gives it. */
export const uidsStay: Invariant = invariant('F4', ['health'], () => (observation, facts) => {
  if (observation.kind !== 'health' || observation.podUids.length === 0) return undefined;
  const known = new Set(facts.pods.knownUids);
  const stranger = observation.podUids.find((uid) => !known.has(uid) && !facts.pods.mayHaveBeenFirst(uid));
  return judged(stranger && `the kubelet knows a pod ${stranger}, which is in no manifest`);
});

/** C7: a slow pull of one pod delays no other pod's start. */
export const promptStart: Invariant = invariant('C7', ['health'], () => {
  const isSlow = (pod: PodPlan): boolean => pod.containers.some(({ slowImage }) => slowImage === true);
  return startsPromptly((facts) => [...facts.pods.wanted.values()].some(isSlow), isSlow);
});

/** W6: a file system that hangs delays the pods alone that mount it. */
export const hangsAlone: Invariant = invariant('W6', ['health'], () =>
  startsPromptly(
    (facts) => facts.foreignHangsUntilMs > facts.nowMs,
    (pod) => pod.foreign === true || pod.containers.some(({ slowImage }) => slowImage === true),
  ),
);

/** W5: what a container links to outside its directories stays as it is. */
export const outsideStays: Invariant = invariant('W5', ['end'], () => (observation) => {
  if (observation.kind !== 'end') return undefined;
  const kept = `${OUTSIDE_DIRECTORY}/kept`;
  return judged(!observation.look.paths.includes(kept) && `${kept} is gone, to which only a link of a container led`);
});

/**
 * On a healthy node each pod starts within {@link PROMPT_MS} of being wanted.
 * @param isDue whether there is something now that might delay it
 * @param isExcused whether that is the pod's own business
 */
export function startsPromptly(
  isDue: (facts: Facts) => boolean,
  isExcused: (pod: PodPlan) => boolean,
): (observation: Extract<Observation, { readonly kind: 'health' }>, facts: Facts) => Judgement {
  const judgedPods = new Set<string>();
  return (observation, facts) => {
    // A node that is full may refuse a pod, or end others for it first; one that is short of disk starts nothing.
    if (facts.resources.someWereEnded || facts.resources.wasShort) return undefined;
    if (observation.kind !== 'health' || facts.firstFaultAtMs <= observation.atMs) return undefined;
    if (!facts.sourcesReady || !isDue(facts)) return undefined;
    for (const [uid, pod] of facts.pods.wanted) {
      const [first] = [...pod.init, ...pod.containers];
      const sinceMs = Math.max(facts.pods.wantedSinceMs(uid), facts.kubeletStartedAtMs + facts.node.httpDelayMs);
      if (
        first === undefined ||
        pod.objects !== undefined ||
        pod.disks !== undefined ||
        pod.devices !== undefined ||
        judgedPods.has(uid) ||
        facts.wasEnded(uid) ||
        // Broken before anybody can be sure to have seen it whole.
        (facts.pods.isBroken(uid) && facts.pods.isUnsure(uid)) ||
        observation.atMs - sinceMs < PROMPT_MS
      )
        continue;
      judgedPods.add(uid);
      const namesakes = facts.pods.knownUids.filter((other) => facts.pods.planOf(other)?.name === pod.name);
      if (namesakes.length > 1 || findPlan(pod, first.name)?.slowImage || isExcused(pod) || waitsForItself(pod, facts))
        continue;
      if (facts.lives.of(uid, first.name).length > 0) return 'ok';
      return { wrong: `pod ${uid} has not started within ${observation.atMs - sinceMs} ms on a healthy node` };
    }
    return undefined;
  };
}

/** Whether it mounts what hangs, or did a moment ago. */
function waitsForItself({ foreign }: PodPlan, { foreignHangsUntilMs }: Facts): boolean {
  return foreign === true && foreignHangsUntilMs >= 0;
}

/** What an empty kubelet has: sync and housekeeping ticks, the runtime's status, relist, garbage collection, sources. */
const IDLE_TIMERS = 12;
/** What it has beside these in a cluster: watches, node status, lease, token and status repair, and what its requests wait with. */
const IDLE_CLUSTER_TIMERS = 10;
/** And where resources are counted: the look at memory and disk, the repair of groups, the ages of images. */
const IDLE_RESOURCE_TIMERS = 4;

/** K4: when all pods are gone, nothing is kept of them. */
export const nothingIsKept: Invariant = invariant('K4', ['end'], () => (observation, facts) => {
  if (observation.kind !== 'end' || facts.pods.wanted.size > 0 || facts.pods.someAreUnsure) return undefined;
  return judged(kept(facts, observation.look));
});

/** What is kept though all pods are gone: of one whose end no event told the cache knows until the next whole list. */
export function kept(facts: Facts, look: LastLook): string | undefined {
  if (facts.pods.wanted.size > 0) return undefined;
  const most =
    IDLE_TIMERS + (facts.node.cluster ? IDLE_CLUSTER_TIMERS : 0) + (facts.node.resources ? IDLE_RESOURCE_TIMERS : 0);
  if (look.kubeletTimers > most) return `an empty kubelet has ${look.kubeletTimers} timers`;
  if (look.mountPoints.length > 0) return `${look.mountPoints[0]} is still mounted`;
  return look.cachedUids.length > 0 ? `the pod cache still has ${look.cachedUids.join(', ')}` : undefined;
}
