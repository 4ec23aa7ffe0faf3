import type { Facts } from '../facts/facts.ts';
import type { Observation } from '../observation.ts';
import type { NodePlan } from '../scenario/actions.ts';
import { SCARCE, type Scarce } from '../world/pressure.ts';
import { type Invariant, invariant, judged } from './invariant.ts';

/** So long an evicted pod is waited for until it is gone, whatever becomes of its end. */
const CLEANUP_MS = 30_000;
/** How long its end may take before that is counted. */
const KILL_MS = 60_000;
/** For so long its end is waited for at least, where the runtime does not answer who ends it. */
const LEAST_KILL_MS = 10_000;
/** So soon something is done about a lack: a round each 10 s, with figures that are 15 s old at most. */
const ACTS_MS = 30_000;
/** What a look at the node may take, beyond its period. */
const ROUND_MS = 15_000;
/** How long what takes disk is sought at most, where the runtime does not answer. */
const RECLAIM_MS = 120_000;
/** Every container gets so long to stop, and no simulated pod asks for more than this. */
const LEAST_GRACE_SECONDS = 2;
const LONGEST_GRACE_SECONDS = 30;
/** A sidecar ends after the others, and what starts that was about to takes a while. */
const ENDS_LATE_MS = 10_000;
/** How long a node's condition may take until the API server shows it, where nothing is in its way. */
const SHOWN_MS = 45_000;

/** An eviction, and what came of it. */
interface Eviction {
  readonly uid: string;
  readonly of: Scarce | undefined;
  readonly atMs: number;
  /** When the figures were measured that it was for. */
  readonly measuredAtMs: number;
  /** When nothing of the pod ran any more; -1 before. */
  stoppedAtMs: number;
  /** When the pod was gone, with all that it held; -1 before. */
  goneAtMs: number;
}

/**
 * N2: pods are evicted for figures that are fresh, one at a time, the next one when that pod is gone and for figures that know it; for a
 * lack of disk not before unused images were looked for; critical ones neither for that nor for another pod.
 */
export const evictions: Invariant = invariant('N2', ['kubeletStarted', 'podEndedByNode', 'stepEnded'], () => {
  /** The last one for each. */
  const last = new Map<Scarce | undefined, Eviction>();
  return (observation, facts) => {
    if (observation.kind === 'kubeletStarted') last.clear();
    if (observation.kind === 'stepEnded') {
      const ended = [...last.values()].find(({ uid }) => uid === observation.uid);
      if (!observation.ok || ended === undefined) return undefined;
      if (observation.step === 'syncTerminatingPod') ended.stoppedAtMs = observation.atMs;
      if (observation.step === 'syncTerminatedPod') ended.goneAtMs = observation.atMs;
    }
    if (observation.kind !== 'podEndedByNode') return undefined;
    const { uid, of, reason, atMs } = observation;
    const yields = reason === 'Preempting' && hasLowPriority(uid, facts);
    if (isCritical(uid, facts) && !yields) return { wrong: `${reason}: pod ${uid}, which is critical` };
    if (reason !== 'Evicted') return 'ok';
    // Who goes for a disk may take its time: memory does not wait for that, nor a disk for memory.
    const before = last.get(of);
    const measuredAtMs = facts.resources.figures?.measuredAtMs ?? -1;
    const now: Eviction = { uid, of, atMs, measuredAtMs, stoppedAtMs: -1, goneAtMs: -1 };
    last.set(of, now);
    return judged(needless(observation, facts) ?? (before && tooSoon(before, now, facts)));
  };
});

/** Whether there is no reason to evict a pod. */
function needless(
  { uid, of }: Extract<Observation, { readonly kind: 'podEndedByNode' }>,
  { resources, kubeletStartedAtMs, clockJumpedAtMs, node, nowMs }: Facts,
): string | undefined {
  if (of === undefined) return `pod ${uid} is evicted, and nobody knows for what`;
  const { figures } = resources;
  if (figures?.low[of] !== true) return `pod ${uid} is evicted for a lack of ${of}, and there is enough of it`;
  const lowForMs = nowMs - resources.lackOf(of).sinceMs;
  if (!figures.short[of] && lowForMs < softGraceMs(node)) {
    return `pod ${uid} is evicted for a lack of ${of} ${lowForMs} ms after that began, not ${softGraceMs(node)}`;
  }
  // The wall clock says how old figures are.
  if (figures.measuredAtMs < kubeletStartedAtMs && clockJumpedAtMs < figures.measuredAtMs) {
    return `pod ${uid} is evicted for figures of before the kubelet's start`;
  }
  if (of === 'disk' && resources.imagesSoughtAtMs < resources.lackOf('disk').sinceMs) {
    return `pod ${uid} is evicted for a lack of disk, and nobody has looked for unused images`;
  }
  return of === 'disk' && figures.measuredAtMs < resources.imagesSoughtAtMs && clockJumpedAtMs < figures.measuredAtMs
    ? `pod ${uid} is evicted for figures of before unused images were removed`
    : undefined;
}

/** Whether a pod is evicted before the one before it is gone, or for figures that do not know that. */
function tooSoon(before: Eviction, { uid, atMs, measuredAtMs }: Eviction, facts: Facts): string | undefined {
  const [life] = facts.lives.runningOf(before.uid);
  const killMs = facts.ownFaultsOverAtMs > before.atMs ? LEAST_KILL_MS : KILL_MS;
  if (life !== undefined && atMs - before.atMs < killMs + CLEANUP_MS) {
    return `pod ${uid} is evicted while container ${life.name} of pod ${before.uid} runs, evicted before it`;
  }
  const waitedMs = atMs - Math.max(before.atMs, before.stoppedAtMs);
  if (before.goneAtMs < 0 && waitedMs < CLEANUP_MS) return `pod ${uid} is evicted before pod ${before.uid} is gone`;
  // The wall clock says how old figures are; but the same ones are as old as they were.
  const jumped = facts.clockJumpedAtMs >= before.measuredAtMs;
  const stale = jumped ? measuredAtMs <= before.measuredAtMs : measuredAtMs < Math.max(before.atMs, before.goneAtMs);
  return stale ? `pod ${uid} is evicted for figures of before the end of pod ${before.uid}` : undefined;
}

/** Whether its manifest itself says that others come before it. */
function hasLowPriority(uid: string, { pods }: Facts): boolean {
  const plan = pods.planOf(uid);
  return plan?.priority !== undefined && !plan.critical;
}

function isCritical(uid: string, { pods }: Facts): boolean {
  return pods.planOf(uid)?.critical === true || !pods.isApiPod(uid);
}

/** N2: a lack that lasts ends one pod after another, as long as there are any that may go; static and critical ones stay. */
export const lackIsMet: Invariant = invariant('N2', ['kubeletStarted', 'podEndedByNode', 'figures'], () => {
  let evictedAtMs = Number.NEGATIVE_INFINITY;
  return (observation, facts) => {
    if (observation.kind === 'kubeletStarted') evictedAtMs = Number.NEGATIVE_INFINITY;
    if (observation.kind === 'podEndedByNode') evictedAtMs = observation.atMs;
    if (observation.kind !== 'figures' || !observation.figures.low.memory) return undefined;
    const { resources, lives, pods, node, sourcesReadyAtMs, runtimeChangedAtMs, clockJumpedAtMs, runtimeUp } = facts;
    // What is too little to last counts for as long as it has been so, and then as too little.
    const lackedMs = Math.min(
      resources.hardLackOf('memory').sinceMs,
      resources.lackOf('memory').sinceMs + softGraceMs(node),
    );
    const goneMs = evictedAtMs + KILL_MS + CLEANUP_MS + softPatienceMs(node);
    const sinceMs = Math.max(lackedMs, goneMs, sourcesReadyAtMs);
    if (!facts.sourcesReady || !runtimeUp || observation.atMs - Math.max(sinceMs, runtimeChangedAtMs) < ACTS_MS) {
      return lives.running.some(({ podUid }) => isCritical(podUid, facts)) ? 'ok' : undefined;
    }
    if (clockJumpedAtMs >= sinceMs) return undefined;
    const spared = lives.running.find(({ podUid, startedAtMs }) => {
      const mayGo = pods.wanted.has(podUid) && !isCritical(podUid, facts) && facts.isKnownToKubelet(podUid);
      return mayGo && startedAtMs < sinceMs && !resources.isOver(podUid) && !facts.wasEnded(podUid);
    });
    const forMs = observation.atMs - sinceMs;
    return judged(spared && `memory is short for ${forMs} ms, and pod ${spared.podUid} is not evicted`);
  };
});

/** N3: a condition begins when there is too little, and ends when there was enough for the transition period. */
export const pressureHolds: Invariant = invariant('N3', ['kubeletStarted', 'pressure', 'figures'], () => {
  let seen = { memory: false, disk: false };
  return (observation, facts) => {
    // One that begins anew knows nothing of what was.
    if (observation.kind === 'kubeletStarted') seen = { memory: false, disk: false };
    const { resources } = facts.node;
    if (resources === undefined || observation.kind === 'kubeletStarted') return undefined;
    const { pressureTransitionMs } = resources;
    const before = seen;
    if (observation.kind === 'pressure') seen = { ...observation.pressure };
    let wrong: string | undefined;
    for (const of of SCARCE) {
      const heldMs = observation.atMs - facts.resources.lackOf(of).lastAtMs;
      const isShort = facts.resources.figures?.low[of] === true;
      if (observation.kind === 'pressure') {
        if (!before[of] && seen[of] && !isShort) wrong ??= `the lack of ${of} begins, and there is enough of it`;
        // Virtual times are sums of fractions.
        if (before[of] && !seen[of] && heldMs < pressureTransitionMs - 1) {
          wrong ??= `the lack of ${of} ends ${heldMs} ms after there was too little, not ${pressureTransitionMs}`;
        }
      } else if (seen[of] && !isShort && observation.atMs > latestEndMs(of, pressureTransitionMs, facts)) {
        wrong ??= `the lack of ${of} lasts ${heldMs} ms after there was too little, not ${pressureTransitionMs}`;
      }
    }
    return observation.kind === 'pressure' ? judged(wrong) : wrong === undefined ? undefined : { wrong };
  };
});

/** N3: the node's condition in the API is what the kubelet sees. */
export const pressureIsShown: Invariant = invariant('N3', ['health', 'pressure', 'kubeletStarted'], () => {
  let seen = false;
  let seenAtMs = 0;
  return (observation, facts) => {
    if (observation.kind === 'kubeletStarted' || observation.kind === 'pressure') {
      seen = observation.kind === 'pressure' && observation.pressure.memory;
      seenAtMs = observation.atMs;
    }
    if (observation.kind !== 'health' || observation.cluster === undefined || facts.node.resources === undefined)
      return undefined;
    if (facts.api.inTrouble || observation.atMs - Math.max(facts.api.troubleAtMs, seenAtMs) < SHOWN_MS)
      return undefined;
    const shown = observation.cluster.memoryPressure;
    return shown === undefined ? undefined : judged(shown !== seen && `MemoryPressure is shown as ${shown}`);
  };
});

/** A round that is late ends a lack late: it waits for a pod that ends, or for a call by which it seeks what takes disk. */
function latestEndMs(of: Scarce, pressureTransitionMs: number, { resources, ownFaultsOverAtMs, node }: Facts): number {
  const soughtUntilMs = Math.min(ownFaultsOverAtMs, resources.lackOf('disk').lastAtMs + RECLAIM_MS);
  const sinceMs = Math.max(resources.lackOf(of).lastAtMs, soughtUntilMs);
  return sinceMs + pressureTransitionMs + KILL_MS + CLEANUP_MS + ROUND_MS + softPatienceMs(node);
}

/** For how long a soft threshold is to be met until it counts. */
function softGraceMs({ resources }: NodePlan): number {
  return (resources?.soft?.graceSeconds ?? 0) * 1000;
}

/** How much longer a pod is waited for that has time to end: twice that, and no pod has more than this of its own. */
function softPatienceMs({ resources }: NodePlan): number {
  if (resources?.soft === undefined) return 0;
  const { maxPodGraceSeconds } = resources.soft;
  return 2000 * (maxPodGraceSeconds < 0 ? LONGEST_GRACE_SECONDS : maxPodGraceSeconds);
}

/** N2: on a healthy node nothing runs of a pod that was evicted for a soft threshold when the time is over that it is left. */
export const softGraceIsKept: Invariant = invariant('N2', ['health'], () => (observation, facts) => {
  if (!facts.kubeletUp || facts.firstFaultAtMs <= observation.atMs) return undefined;
  let isSeen = false;
  for (const { podUid, name } of facts.lives.running) {
    const evictedAtMs = facts.resources.softlyEvictedAtMs(podUid);
    if (evictedAtMs < 0) continue;
    isSeen = true;
    const own = facts.pods.planOf(podUid)?.graceSeconds ?? LONGEST_GRACE_SECONDS;
    const graceSeconds = Math.max(LEAST_GRACE_SECONDS, Math.min(own, facts.evictionGraceSeconds(podUid)));
    const agoMs = observation.atMs - evictedAtMs - graceSeconds * 1000;
    if (agoMs > ENDS_LATE_MS) {
      return {
        wrong: `container ${name} of pod ${podUid}, evicted with ${graceSeconds} s to end, runs ${agoMs} ms after that`,
      };
    }
  }
  return isSeen ? 'ok' : undefined;
});

/** N3: a pod that asks for nothing does not begin while memory is short, and is not refused for that when it is not. */
export const refusedUnderPressure: Invariant = invariant('N3', ['podRefused'], () => (observation, facts) => {
  if (observation.kind !== 'podRefused' || observation.reason !== 'Evicted') return undefined;
  const { uid, atMs } = observation;
  if (isCritical(uid, facts)) return { wrong: `pod ${uid} is refused for a lack, and is critical` };
  const { pressureTransitionMs = 0 } = facts.node.resources ?? {};
  const isDue = SCARCE.some((of) => {
    const bears = of === 'memory' && facts.pods.planOf(uid)?.cpu !== undefined;
    return facts.resources.lackOf(of).lastAtMs >= 0 && atMs < latestEndMs(of, pressureTransitionMs, facts) && !bears;
  });
  return judged(!isDue && `pod ${uid} is refused for a lack, and there is none`);
});
