import type { Facts } from '../facts/facts.ts';
import type { LastLook, Observation } from '../observation.ts';
import { findPlan, type PodPlan } from '../scenario/plans.ts';
import { OUTSIDE_DIRECTORY } from '../world/world.ts';
import { type Invariant, invariant, type Judgement, judged } from './invariant.ts';

/** The runtime may not respond for 30 s before it counts as down. */
const NOTICED_MS = 45_000;
/** Time within which a pod starts on a healthy node, regardless of other pods. */
const PROMPT_MS = 18_000;

/** K2: the kubelet reports an unreachable runtime. */
export const runtimeIsReported: Invariant = invariant('K2', ['health'], () => (observation, facts) => {
  if (observation.kind !== 'health' || facts.runtimeUp) return undefined;
  const sinceMs = Math.max(facts.runtimeChangedAtMs, facts.kubeletStartedAtMs);
  if (observation.atMs - sinceMs < NOTICED_MS) return undefined;
  return judged(observation.runtime === undefined && 'the runtime is down but the kubelet reports itself as healthy');
});

/** F4: the kubelet knows each static pod by the UID in its manifest. */
export const uidsStay: Invariant = invariant('F4', ['health'], () => (observation, facts) => {
  if (observation.kind !== 'health' || observation.podUids.length === 0) return undefined;
  const known = new Set(facts.pods.knownUids);
  const stranger = observation.podUids.find((uid) => !known.has(uid) && !facts.pods.mayHaveBeenFirst(uid));
  return judged(stranger && `the kubelet knows a pod ${stranger} that is in no manifest`);
});

/** C7: a slow image pull of one pod does not delay the start of other pods. */
export const promptStart: Invariant = invariant('C7', ['health'], () => {
  const isSlow = (pod: PodPlan): boolean => pod.containers.some(({ slowImage }) => slowImage === true);
  return startsPromptly((facts) => [...facts.pods.wanted.values()].some(isSlow), isSlow);
});

/** W6: a hanging file system delays only pods that mount it. */
export const hangsAlone: Invariant = invariant('W6', ['health'], () =>
  startsPromptly(
    (facts) => facts.foreignHangsUntilMs > facts.nowMs,
    (pod) => pod.foreign === true || pod.containers.some(({ slowImage }) => slowImage === true),
  ),
);

/** W5: files outside a container's directories that a container links to are not changed. */
export const outsideStays: Invariant = invariant('W5', ['end'], () => (observation) => {
  if (observation.kind !== 'end') return undefined;
  const kept = `${OUTSIDE_DIRECTORY}/kept`;
  return judged(
    !observation.look.paths.includes(kept) && `${kept} is gone, although only a link of a container led to it`,
  );
});

/**
 * Returns a check that on a healthy node each pod starts within {@link PROMPT_MS} after it is wanted.
 * @param isDue whether a pod or fault that might delay other pods currently exists
 * @param isExcused whether this pod or fault may delay the given pod
 */
export function startsPromptly(
  isDue: (facts: Facts) => boolean,
  isExcused: (pod: PodPlan) => boolean,
): (observation: Extract<Observation, { readonly kind: 'health' }>, facts: Facts) => Judgement {
  const judgedPods = new Set<string>();
  return (observation, facts) => {
    // A full node may reject or preempt pods first, and a node with disk pressure starts nothing.
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
        pod.csi !== undefined ||
        pod.claim !== undefined ||
        pod.whole !== undefined ||
        pod.inlineCsi !== undefined ||
        pod.devices !== undefined ||
        judgedPods.has(uid) ||
        facts.wasEnded(uid) ||
        // No kubelet has certainly read the manifest before the manifest became malformed.
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

/** Reports whether the pod mounts the foreign file system, and that file system has hung at any time. */
function waitsForItself({ foreign }: PodPlan, { foreignHangsUntilMs }: Facts): boolean {
  return foreign === true && foreignHangsUntilMs >= 0;
}

/** Timers of an idle kubelet: sync and housekeeping ticks, runtime status, relist, garbage collection, sources. */
const IDLE_TIMERS = 12;
/** Additional timers in a cluster: watches, node status, lease, token and status repair, and request retries. */
const IDLE_CLUSTER_TIMERS = 10;
/** Additional timers with CSI drivers: plugin watcher, CSINode, watch of CSIDrivers. */
const IDLE_CSI_TIMERS = 6;
/** Additional timers with simulated resources: eviction checks, cgroup repair, image ages. */
const IDLE_RESOURCE_TIMERS = 4;

/** K4: the kubelet keeps no state of removed pods. */
export const nothingIsKept: Invariant = invariant('K4', ['end'], () => (observation, facts) => {
  if (observation.kind !== 'end' || facts.pods.wanted.size > 0 || facts.pods.someAreUnsure) return undefined;
  return judged(kept(facts, observation.look));
});

/**
 * Returns the state that the kubelet still keeps although all pods were removed. If no event reported the end of a pod,
 * the pod cache keeps it until the next complete relist.
 */
export function kept(facts: Facts, look: LastLook): string | undefined {
  if (facts.pods.wanted.size > 0) return undefined;
  const most =
    IDLE_TIMERS +
    (facts.node.cluster ? IDLE_CLUSTER_TIMERS : 0) +
    (facts.node.resources ? IDLE_RESOURCE_TIMERS : 0) +
    (facts.node.csi ? IDLE_CSI_TIMERS : 0) +
    (facts.node.claims || facts.node.numa ? IDLE_CSI_TIMERS : 0);
  if (look.kubeletTimers > most) return `a kubelet without pods has ${look.kubeletTimers} timers`;
  if (look.mountPoints.length > 0) return `${look.mountPoints[0]} is still mounted`;
  return look.cachedUids.length > 0 ? `the pod cache still contains ${look.cachedUids.join(', ')}` : undefined;
}
