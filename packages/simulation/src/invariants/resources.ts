import { bareContainerId } from '@node-agent/pod-spec';
import type { Facts } from '../facts/facts.ts';
import { SEEN_MS } from '../facts/manifest-facts.ts';
import { REFUSAL_REASON } from '../facts/shutdown-facts.ts';
import type { LastLook } from '../observation.ts';
import type { CpuPlan, PodPlan } from '../scenario/plans.ts';
import type { ShownPod } from '../world/cluster-api.ts';
import type { Life } from '../world/ledger.ts';
import { type Invariant, invariant, judged } from './invariant.ts';
import { watchSilenceMs } from './watch-silence.ts';

/**
 * N1: no pod is allocated more resources if the sum of all allocations then exceeds the node's resources. Before all
 * sources have reported, the kubelet does not know all pods. Pods that ran before a restart therefore stay, even if
 * they exceed the node together with pods that were admitted earlier.
 */
export const grantsFit: Invariant = invariant('N1', ['kubeletStarted', 'settled'], () => {
  let before: ReadonlyMap<string, number> = new Map();
  /**
   * Pods that got more resources while they wait to be admitted again. The invariant judges these pods when they are
   * admitted.
   */
  let waiting: readonly string[] = [];
  return (observation, facts) => {
    const { grants } = facts.resources;
    const known = before;
    before = grants;
    const { resources } = facts.node;
    if (observation.kind === 'kubeletStarted') waiting = [];
    if (observation.kind !== 'settled' || resources === undefined || !facts.kubeletUp) return undefined;
    if (grants === known && waiting.length === 0) return undefined;
    const isSure = !facts.sourcesReady && facts.resources.startedWithAllGrants;
    const early = isSure ? resizedEarly(known, facts) : undefined;
    if (early !== undefined) {
      const text = `${known.get(early)}m and now ${grants.get(early)}m, before all sources have reported`;
      return { wrong: `pod ${early} was allocated ${text}` };
    }
    if (!facts.sourcesReady) return undefined;
    const more = [...grants].filter(([uid, millis]) => millis > (known.get(uid) ?? 0) || waiting.includes(uid));
    const grown = more.flatMap(([uid]) => (holds(uid, facts) ? uid : []));
    waiting = grown.filter((uid) => makesRoom(uid, facts));
    const newest = grown.find((uid) => !waiting.includes(uid));
    if (newest === undefined) return undefined;
    // A pod that is new to this kubelet may have existed and been admitted before all pods were known. Its allocation
    // is stored when the pod starts.
    if (!known.has(newest) && facts.pods.lastUnwantedAtMs(newest) <= facts.sourcesReadyAtMs) return undefined;
    // A stale list does not contain all pods. The watch delivers the missing pods later.
    if (facts.api.wasStaleSince(facts.kubeletStartedAtMs) && observation.atMs - facts.sourcesReadyAtMs < SEEN_MS)
      return undefined;
    const held = [...grants].filter(([uid]) => holds(uid, facts) && !makesRoom(uid, facts));
    const sum = held.reduce((total, [, millis]) => total + millis, 0);
    const most = resources.cpuCount * 1000;
    const text = held.map(([uid, millis]) => `${uid} ${millis}m`).join(', ');
    return judged(sum > most && `pod ${newest} was allocated more, so that ${sum}m of ${most}m are allocated: ${text}`);
  };
});

/**
 * Returns a pod that runs since before the kubelet's start and was allocated more resources before all sources have
 * reported.
 */
function resizedEarly(
  known: ReadonlyMap<string, number>,
  { resources, lives, kubeletStartedAtMs }: Facts,
): string | undefined {
  const old = lives.running.find(({ podUid, startedAtMs }) => {
    const had = known.get(podUid) ?? 0;
    return startedAtMs < kubeletStartedAtMs && had > 0 && (resources.grants.get(podUid) ?? 0) > had;
  });
  return old?.podUid;
}

/**
 * Reports whether the resources of a pod count as used. Terminated pods, unwanted pods and pods unknown to this kubelet
 * do not count.
 */
function holds(uid: string, facts: Facts): boolean {
  return facts.pods.wanted.has(uid) && facts.isKnownToKubelet(uid) && !facts.resources.isOver(uid);
}

/** Minimum time for which a preemption waits for the preempted pod. */
const LEAST_KILL_MS = 10_000;

/** Reports whether a wanted pod holds no resources until it is admitted again. */
function makesRoom(uid: string, facts: Facts): boolean {
  // The pod was stopped, or is about to be stopped, and was added again.
  if (facts.resources.stoppedAtMs(uid) >= 0 || facts.pods.lastUnwantedAtMs(uid) >= facts.syncBeganAtMs(uid))
    return true;
  const agoMs = facts.nowMs - facts.resources.preemptedAtMs(uid);
  // A pod that has not started because it waits for its name terminates immediately.
  const hasBegun = Number.isFinite(facts.syncBeganAtMs(uid)) || facts.lives.runningOf(uid).length > 0;
  // If the wait for the preempted pod is unsuccessful, the preempting pod is admitted nevertheless, as in upstream.
  return agoMs >= (hasBegun ? LEAST_KILL_MS : 0);
}

/** N1: a pod that ran before a kubelet restart is not rejected after the restart. */
export const runningIsAdmitted: Invariant = invariant('N1', ['podRefused'], () => (observation, facts) => {
  if (observation.kind !== 'podRefused') return undefined;
  const { uid, reason } = observation;
  // The pod may have been added after the kubelet read its source for the first time, and its source must be read
  // again.
  if (facts.pods.isUnsure(uid)) return undefined;
  const life = facts.lives.runningOf(uid).find(({ startedAtMs }) => facts.pods.lastUnwantedAtMs(uid) < startedAtMs);
  return judged(life && `pod ${uid} was rejected (${reason}) while its container ${life.name} is running`);
});

/**
 * Maximum time until a change of a pod is processed while preempted pods terminate slowly: 1.5 times the longest grace
 * period, in addition to the detection of the change.
 */
const HELD_UP_MS = SEEN_MS + 45_000;

/**
 * N1: no pod is rejected for lack of CPU if it fits together with all pods that may hold CPU. Terminated pods hold no
 * CPU.
 */
export const refusedForLack: Invariant = invariant('N1', ['podRefused'], () => (observation, facts) => {
  const { node, resources } = facts;
  if (observation.kind !== 'podRefused' || !isForLack(observation.reason) || node.resources === undefined)
    return undefined;
  const { uid, reason } = observation;
  // Pods in a stale list count as existing, because the kubelet does not know better.
  if (facts.api.wasStaleSince(facts.kubeletStartedAtMs)) return undefined;
  // If earlier preemptions delay the admission, the pod may be admitted with its previous request.
  const isNew = observation.atMs - heardOfByMs(uid, facts) < HELD_UP_MS;
  // The pod may also be admitted with the allocation by a previous kubelet, regardless of its current request (`AddPod` of
  // upstream's allocation manager).
  const asked = isNew ? heldAtMost(uid, facts) : Math.max(askedBy(uid, facts), resources.grants.get(uid) ?? 0);
  // It is uncertain which version of the pod the kubelet keeps, and so is its request.
  if (facts.pods.isUnsure(uid)) return undefined;
  // If a critical pod is rejected, only critical pods count, because all other pods could have been preempted.
  const onlyCritical = reason === 'UnexpectedAdmissionError';
  const others = facts.pods.knownUids.filter((other) => {
    if (other === uid || (onlyCritical && !isCriticalPlan(other, facts))) return false;
    return mayHold(other, facts);
  });
  // As in upstream, the resources of a pod during a resize depend on the pod's status in the API, and the API may not
  // have the newest status yet.
  const { api } = facts;
  const isWell = !api.inTrouble && observation.atMs - api.troubleAtMs >= watchSilenceMs(facts);
  const isUntold = (other: string): boolean => {
    const changedAtMs = facts.pods.isApiPod(other) ? resources.changedAtMs(other) : -1;
    return changedAtMs >= 0 && (api.inTrouble || api.troubleAtMs >= changedAtMs);
  };
  if (!isWell && others.some(isUntold)) return undefined;
  const held = others.map((other) => [other, heldAtMost(other, facts)] as const).filter(([, millis]) => millis > 0);
  const sum = held.reduce((total, [, millis]) => total + millis, 0);
  const most = node.resources.cpuCount * 1000;
  const text = held.map(([other, millis]) => `${other} ${millis}m`).join(', ');
  return judged(
    asked + sum <= most &&
      `pod ${uid} requests ${asked}m and was rejected (${reason}) although only ${sum}m of ${most}m are held: ${text}`,
  );
});

/**
 * Returns the latest time at which the kubelet has learned of a pod. After an outage a watch reports the pod as
 * created, and then its resizes as separate changes, so the pod may be admitted or rejected for its initial request.
 */
function heardOfByMs(uid: string, facts: Facts): number {
  const { api, pods } = facts;
  const wantedMs = pods.wantedSinceMs(uid);
  if (!pods.isApiPod(uid)) return wantedMs;
  if (api.inTrouble) return facts.nowMs;
  return api.troubleAtMs >= wantedMs ? api.troubleAtMs + watchSilenceMs(facts) : wantedMs;
}

/** Reports whether a rejection means that the node lacks a resource that the pod requests. */
export function isForLack(reason: string): boolean {
  return reason !== 'Evicted' && reason !== REFUSAL_REASON;
}

/**
 * Reports whether a pod may still count against the node's resources, because the kubelet may not know that the pod has
 * terminated.
 */
function mayHold(uid: string, facts: Facts): boolean {
  const overAtMs = Math.max(facts.resources.refusedAtMs(uid), facts.resources.stoppedAtMs(uid));
  // A pod that was added again since then may have been admitted, but not started yet.
  const cameAgain = facts.pods.wanted.has(uid) && facts.pods.lastUnwantedAtMs(uid) >= overAtMs;
  // As in upstream, a rejected static pod whose mirror pod is known to its worker counts until its termination has
  // finished.
  if (overAtMs >= 0 && !cameAgain && !facts.isBeingEnded(uid)) return false;
  if (facts.api.hasEnded(uid) && facts.lives.runningOf(uid).length === 0) return false;
  // A pod that was removed before the kubelet started and not added again was never known to this kubelet.
  return (
    facts.isKnownToKubelet(uid) ||
    facts.pods.isUnsure(uid) ||
    facts.pods.unwantedSinceMs(uid) > facts.kubeletStartedAtMs - SEEN_MS
  );
}

function askedBy(uid: string, facts: Facts): number {
  return sumOf({ ...facts.pods.planOf(uid)?.cpu, ...facts.resources.askedFor(uid) });
}

/** Maximum time for which a container may run with its previous resources while the runtime fails to update them. */
const RESIZE_HELD_UP_MS = 300_000;

/**
 * Returns the maximum of allocated and requested resources, because the time of the change is unknown. The maximum is
 * taken per container, because one container may still have its old allocation while another container already has its
 * new allocation.
 */
function heldAtMost(uid: string, facts: Facts): number {
  const { resources } = facts;
  const versions = [
    ...facts.pods.plansOf(uid).map(({ cpu = {} }) => cpu),
    ...resources.askedBefore(uid, facts.nowMs - RESIZE_HELD_UP_MS),
    resources.askedFor(uid) ?? {},
  ];
  const most = new Map<string, number>();
  for (const version of versions) {
    for (const [name, millis] of Object.entries(version)) most.set(name, Math.max(millis, most.get(name) ?? 0));
  }
  return Math.max(sumOf(Object.fromEntries(most)), resources.grants.get(uid) ?? 0);
}

function isCriticalPlan(uid: string, { pods }: Facts): boolean {
  return pods.planOf(uid)?.critical === true || !pods.isApiPod(uid);
}

/**
 * C6: an ephemeral container runs once and is never restarted, unless the record of its run was removed before the
 * kubelet had reported that the container ran.
 */
export const ephemeralRunsOnce: Invariant = invariant(
  'C6',
  ['status', 'apiRequest', 'kubeletStarted', 'containerStarted'],
  () => {
    /** By container ID: UIDs of the pods whose container runs the running kubelet has reported. */
    const told = new Map<string, string>();
    /** Ids of the container runs that the API shows to the next kubelet. */
    const shown = new Set<string>();
    return (observation, facts) => {
      if (observation.kind === 'kubeletStarted') told.clear();
      if (observation.kind === 'status') {
        const { pod, status } = observation.status;
        for (const { containerID } of status.ephemeralContainerStatuses ?? []) {
          told.set(bareContainerId(containerID), pod.metadata.uid);
        }
      }
      if (observation.kind === 'apiRequest') {
        for (const [id, uid] of told) if (uid === observation.shown?.uid) shown.add(id);
      }
      if (observation.kind !== 'containerStarted') return undefined;
      const { podUid, name, sandboxId } = observation.life;
      const pod = facts.pods.planOf(podUid);
      if (pod === undefined || [...pod.init, ...pod.containers].some((plan) => plan.name === name)) return undefined;
      const isKnown = (life: Life): boolean =>
        !facts.records.wasRemoved(life) || told.has(life.id) || (shown.has(life.id) && !facts.api.stale);
      const again = facts.lives
        .of(podUid, name)
        .some((life) => life !== observation.life && life.sandboxId === sandboxId && isKnown(life));
      return judged(again && `ephemeral container ${name} of pod ${podUid} was restarted in its sandbox`);
    };
  },
);

/**
 * Returns a resize that is wrong in the final state, as text. Each resize must be allocated, applied and reported, or
 * be reported as pending if resources are missing.
 */
export function resizeFault(facts: Facts, look: LastLook): string | undefined {
  const { resources } = facts.node;
  if (resources === undefined) return undefined;
  const most = resources.cpuCount * 1000;
  const grants = [...facts.resources.grants].filter(([uid]) => holds(uid, facts));
  const held = new Map(grants.map(([uid, millis]) => [uid, Math.max(millis, runningMillis(uid, facts, look))]));
  const all = [...held.values()].reduce((sum, millis) => sum + millis, 0);
  for (const [uid, pod] of facts.pods.wanted) {
    if (pod.cpu === undefined || facts.pods.isUnsure(uid)) continue;
    if (facts.resources.isOver(uid) || facts.wasEnded(uid) || facts.lives.runningOf(uid).length === 0) continue;
    // Without its volumes, the sync of a pod ends before the resize, so the pod keeps its resources
    // (`Kubelet.SyncPod`).
    if (facts.objects.isHeldBack(pod)) continue;
    const room = most - all + (held.get(uid) ?? 0);
    const shown = look.cluster?.shown.find((one) => one.uid === uid && !one.mirror);
    const fault = shown ? shownResizeFault(shown, room, most, facts, look) : staticResizeFault(pod, room, facts, look);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/**
 * Returns the CPU that a pod with missing volumes holds: for each container the larger of its allocated and its running
 * CPU, because the pod cannot be made smaller. Returns 0 for other pods.
 */
function runningMillis(uid: string, facts: Facts, look: LastLook): number {
  const pod = facts.pods.wanted.get(uid);
  const shown = look.cluster?.shown.find((one) => one.uid === uid);
  if (pod === undefined || shown === undefined || !facts.objects.isHeldBack(pod)) return 0;
  const { asked, allocated, running } = shown.cpu;
  const most = Object.keys(asked).map((name) => Math.max(allocated[name] ?? asked[name] ?? 0, running[name] ?? 0));
  return most.reduce((sum, millis) => sum + millis, 0);
}

/** Returns what is wrong with a resize according to its status in the API, as text. */
function shownResizeFault(
  { uid, cpu, resize }: ShownPod,
  room: number,
  most: number,
  facts: Facts,
  look: LastLook,
): string | undefined {
  const asked = sumOf(cpu.asked);
  if (resize.inProgress) return `a resize of pod ${uid} is still reported as in progress`;
  if (resize.pending === 'Deferred' && asked <= room)
    return `a resize of pod ${uid} is deferred although there is room for it`;
  if (resize.pending === 'Infeasible' && asked <= most) {
    return `a resize of pod ${uid} is reported as infeasible although the node is large enough`;
  }
  for (const [name, millis] of Object.entries(cpu.asked)) {
    if (!runs(uid, name, facts)) continue;
    const granted = cpu.allocated[name];
    const subject = `container ${name} of pod ${uid}`;
    if (resize.pending === undefined && granted !== millis)
      return `${subject} requests ${millis}m and is allocated ${granted}m`;
    if (cpu.running[name] !== granted)
      return `${subject} is reported as running with ${cpu.running[name]}m but was allocated ${granted}m`;
    const fault = sharesFault(uid, name, granted ?? 0, facts, look);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/**
 * Returns what is wrong with the resize of a static pod, as text. The kubelet's stored allocations and the runtime's
 * settings decide, because a static pod may not be visible in any API.
 */
function staticResizeFault({ uid, cpu = {} }: PodPlan, room: number, facts: Facts, look: LastLook): string | undefined {
  const asked = sumOf(cpu);
  const granted = facts.resources.grants.get(uid);
  if (granted !== asked) {
    return asked <= room
      ? `static pod ${uid} requests ${asked}m and is allocated ${granted}m although there is room for it`
      : undefined;
  }
  for (const [name, millis] of Object.entries(cpu)) {
    const fault = runs(uid, name, facts) ? sharesFault(uid, name, millis, facts, look) : undefined;
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function sharesFault(uid: string, name: string, granted: number, facts: Facts, look: LastLook): string | undefined {
  const life = facts.lives.runningOf(uid).find((running) => running.name === name);
  const shares = look.containers.find(({ id }) => id === life?.id)?.cpuShares;
  const wanted = Math.max(2, Math.floor((granted * 1024) / 1000));
  return shares === wanted
    ? undefined
    : `container ${name} of pod ${uid} is running with ${shares} CPU shares, but its allocation of ${granted}m requires ${wanted} shares`;
}

function runs(uid: string, name: string, facts: Facts): boolean {
  return facts.lives.runningOf(uid).some((life) => life.name === name);
}

function sumOf(cpu: CpuPlan): number {
  return Object.values(cpu).reduce((sum, millis) => sum + millis, 0);
}
