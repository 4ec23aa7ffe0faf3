import { findPlan } from '../scenario/plans.ts';
import { type Invariant, invariant, judged } from './invariant.ts';

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
  const stranger = observation.podUids.find((uid) => !known.has(uid));
  return judged(stranger && `the kubelet knows a pod ${stranger}, which is in no manifest`);
});

/** C7: a slow pull of one pod delays no other pod's start. */
export const promptStart: Invariant = invariant('C7', ['health'], () => {
  const judgedPods = new Set<string>();
  return (observation, facts) => {
    if (observation.kind !== 'health' || facts.firstFaultAtMs <= observation.atMs) return undefined;
    const slow = [...facts.pods.wanted.values()].some((pod) => pod.containers.some(({ slowImage }) => slowImage));
    if (!slow || !facts.sourcesReady) return undefined;
    for (const [uid, pod] of facts.pods.wanted) {
      const [first] = [...pod.init, ...pod.containers];
      const sinceMs = Math.max(facts.pods.wantedSinceMs(uid), facts.kubeletStartedAtMs + facts.node.httpDelayMs);
      if (
        first === undefined ||
        pod.objects !== undefined ||
        judgedPods.has(uid) ||
        // Broken before anybody can be sure to have seen it whole.
        (facts.pods.isBroken(uid) && facts.pods.isUnsure(uid)) ||
        observation.atMs - sinceMs < PROMPT_MS
      )
        continue;
      judgedPods.add(uid);
      const namesakes = facts.pods.knownUids.filter((other) => facts.pods.planOf(other)?.name === pod.name);
      if (namesakes.length > 1 || findPlan(pod, first.name)?.slowImage || pod.containers.some((it) => it.slowImage))
        continue;
      if (facts.lives.of(uid, first.name).length > 0) return 'ok';
      return { wrong: `pod ${uid} has not started within ${observation.atMs - sinceMs} ms on a healthy node` };
    }
    return undefined;
  };
});

/** What an empty kubelet has: sync and housekeeping ticks, the runtime's status, relist, garbage collection, sources. */
const IDLE_TIMERS = 12;
/** What it has beside these in a cluster: watches, node status, lease, token and status repair, and what its requests wait with. */
const IDLE_CLUSTER_TIMERS = 10;

/** K4: when all pods are gone, nothing is kept of them. */
export const nothingIsKept: Invariant = invariant('K4', ['end'], () => (observation, facts) => {
  if (observation.kind !== 'end' || facts.pods.wanted.size > 0 || facts.pods.someAreUnsure) return undefined;
  const { look } = observation;
  const most = IDLE_TIMERS + (facts.node.cluster ? IDLE_CLUSTER_TIMERS : 0);
  if (look.kubeletTimers > most) return { wrong: `an empty kubelet has ${look.kubeletTimers} timers` };
  if (look.mountPoints.length > 0) return { wrong: `${look.mountPoints[0]} is still mounted` };
  return judged(look.cachedUids.length > 0 && `the pod cache still has ${look.cachedUids.join(', ')}`);
});
