import type { Facts } from '../facts/facts.ts';
import type { Observation } from '../observation.ts';
import type { NodePlan } from '../scenario/actions.ts';
import { SCARCE, type Scarce } from '../world/pressure.ts';
import { type Invariant, invariant, judged } from './invariant.ts';

/** Time for which an eviction waits for the evicted pod's cleanup, regardless of its outcome. */
const CLEANUP_MS = 30_000;
/** Maximum time of the evicted pod's termination, after which the wait for the cleanup starts. */
const KILL_MS = 60_000;
/**
 * Minimum time of the evicted pod's termination before the wait for the cleanup starts, if the runtime does not
 * respond.
 */
const LEAST_KILL_MS = 10_000;
/**
 * Time within which pressure must cause an eviction: the kubelet checks every 10 s, with stats that are at most 15 s
 * old.
 */
const ACTS_MS = 30_000;
/** Time that an eviction check may take in addition to its period. */
const ROUND_MS = 15_000;
/** Maximum duration of the search for reclaimable disk space if the runtime does not respond. */
const RECLAIM_MS = 120_000;
/** Minimum grace period of every container, and the longest grace period of any simulated pod. */
const LEAST_GRACE_SECONDS = 2;
const LONGEST_GRACE_SECONDS = 30;
/**
 * Time for which a container may run beyond its grace period: sidecars are stopped after the other containers, and
 * starts in progress take some time.
 */
const ENDS_LATE_MS = 10_000;
/** Maximum time until the API server shows a changed node condition if nothing prevents it. */
const SHOWN_MS = 45_000;

/** An eviction and its progress. */
interface Eviction {
  readonly uid: string;
  readonly of: Scarce | undefined;
  readonly atMs: number;
  /** Measurement time of the stats that caused the eviction. */
  readonly measuredAtMs: number;
  /** Time at which the last container of the pod had stopped. -1 while a container runs. */
  stoppedAtMs: number;
  /** Time at which the pod and all its resources were gone; -1 until then. */
  goneAtMs: number;
}

/**
 * N2: evictions are based on fresh stats and happen one at a time. The next pod is evicted only when the previous one
 * has terminated and its resources are free, by stats that were measured afterwards. For disk pressure, unused images
 * are removed first. Critical pods are not evicted, nor preempted for other pods.
 */
export const evictions: Invariant = invariant('N2', ['kubeletStarted', 'podEndedByNode', 'stepEnded'], () => {
  /** Last eviction by resource. */
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
    // Evictions for memory and for disk do not wait for each other.
    const before = last.get(of);
    const measuredAtMs = facts.resources.figures?.measuredAtMs ?? -1;
    const now: Eviction = { uid, of, atMs, measuredAtMs, stoppedAtMs: -1, goneAtMs: -1 };
    last.set(of, now);
    return judged(needless(observation, facts) ?? (before && tooSoon(before, now, facts)));
  };
});

/** Returns the violation if a pod was evicted without a reason. */
function needless(
  { uid, of }: Extract<Observation, { readonly kind: 'podEndedByNode' }>,
  { resources, kubeletStartedAtMs, clockJumpedAtMs, node, nowMs }: Facts,
): string | undefined {
  if (of === undefined) return `pod ${uid} was evicted for an unknown resource`;
  const { figures } = resources;
  if (figures?.low[of] !== true) return `pod ${uid} was evicted for ${of} pressure that does not exist`;
  const lowForMs = nowMs - resources.lackOf(of).sinceMs;
  if (!figures.short[of] && lowForMs < softGraceMs(node)) {
    return `pod ${uid} was evicted for ${of} pressure ${lowForMs} ms after its start, before the grace period of ${softGraceMs(node)} ms was over`;
  }
  // The age of stats is measured by the wall clock.
  if (figures.measuredAtMs < kubeletStartedAtMs && clockJumpedAtMs < figures.measuredAtMs) {
    return `pod ${uid} was evicted for stats from before the kubelet's start`;
  }
  if (of === 'disk' && resources.imagesSoughtAtMs < resources.lackOf('disk').sinceMs) {
    return `pod ${uid} was evicted for disk pressure without a search for unused images`;
  }
  return of === 'disk' && figures.measuredAtMs < resources.imagesSoughtAtMs && clockJumpedAtMs < figures.measuredAtMs
    ? `pod ${uid} was evicted for stats from before the removal of unused images`
    : undefined;
}

/**
 * Returns the violation if a pod was evicted too early: the previously evicted pod is not gone, or the stats were
 * measured before that pod was gone.
 */
function tooSoon(before: Eviction, { uid, atMs, measuredAtMs }: Eviction, facts: Facts): string | undefined {
  const [life] = facts.lives.runningOf(before.uid);
  const killMs = facts.ownFaultsOverAtMs > before.atMs ? LEAST_KILL_MS : KILL_MS;
  if (life !== undefined && atMs - before.atMs < killMs + CLEANUP_MS) {
    return `pod ${uid} was evicted while container ${life.name} of the previously evicted pod ${before.uid} is running`;
  }
  const waitedMs = atMs - Math.max(before.atMs, before.stoppedAtMs);
  if (before.goneAtMs < 0 && waitedMs < CLEANUP_MS) return `pod ${uid} was evicted before pod ${before.uid} was gone`;
  // The age of stats is measured by the wall clock. After a jump, stats are certainly too old only if they are not
  // newer than those of the previous eviction.
  const jumped = facts.clockJumpedAtMs >= before.measuredAtMs;
  const stale = jumped ? measuredAtMs <= before.measuredAtMs : measuredAtMs < Math.max(before.atMs, before.goneAtMs);
  return stale ? `pod ${uid} was evicted for stats from before the end of pod ${before.uid}` : undefined;
}

/** Reports whether the manifest sets a low priority, so that other pods may preempt this pod. */
function hasLowPriority(uid: string, { pods }: Facts): boolean {
  const plan = pods.planOf(uid);
  return plan?.priority !== undefined && !plan.critical;
}

function isCritical(uid: string, { pods }: Facts): boolean {
  return pods.planOf(uid)?.critical === true || !pods.isApiPod(uid);
}

/**
 * N2: lasting memory pressure evicts one pod after another while there are candidates. Static and critical pods stay.
 */
export const lackIsMet: Invariant = invariant('N2', ['kubeletStarted', 'podEndedByNode', 'figures'], () => {
  let evictedAtMs = Number.NEGATIVE_INFINITY;
  return (observation, facts) => {
    if (observation.kind === 'kubeletStarted') evictedAtMs = Number.NEGATIVE_INFINITY;
    if (observation.kind === 'podEndedByNode') evictedAtMs = observation.atMs;
    if (observation.kind !== 'figures' || !observation.figures.low.memory) return undefined;
    const { resources, lives, pods, node, sourcesReadyAtMs, runtimeChangedAtMs, clockJumpedAtMs, runtimeUp } = facts;
    // A soft threshold counts as pressure after its grace period.
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
    return judged(spared && `memory pressure has lasted for ${forMs} ms and pod ${spared.podUid} was not evicted`);
  };
});

/** N3: a pressure condition starts with the pressure, and ends when there was none for the transition period. */
export const pressureHolds: Invariant = invariant('N3', ['kubeletStarted', 'pressure', 'figures'], () => {
  let seen = { memory: false, disk: false };
  return (observation, facts) => {
    // A restarted kubelet does not know the previous condition.
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
        if (!before[of] && seen[of] && !isShort) wrong ??= `condition for ${of} started without pressure`;
        // Virtual times are sums of fractions, so a difference may be slightly too small.
        if (before[of] && !seen[of] && heldMs < pressureTransitionMs - 1) {
          wrong ??= `condition for ${of} ended ${heldMs} ms after the last pressure, before the transition period of ${pressureTransitionMs} ms was over`;
        }
      } else if (seen[of] && !isShort && observation.atMs > latestEndMs(of, pressureTransitionMs, facts)) {
        wrong ??= `condition for ${of} still holds ${heldMs} ms after the last pressure, with a transition period of ${pressureTransitionMs} ms`;
      }
    }
    return observation.kind === 'pressure' ? judged(wrong) : wrong === undefined ? undefined : { wrong };
  };
});

/** N3: the pressure conditions of the node in the API are those that the kubelet has determined. */
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

/**
 * Returns the latest end of a condition. The check that ends the condition may wait for an evicted pod or for a call
 * that reclaims disk space.
 */
function latestEndMs(of: Scarce, pressureTransitionMs: number, { resources, ownFaultsOverAtMs, node }: Facts): number {
  const soughtUntilMs = Math.min(ownFaultsOverAtMs, resources.lackOf('disk').lastAtMs + RECLAIM_MS);
  const sinceMs = Math.max(resources.lackOf(of).lastAtMs, soughtUntilMs);
  return sinceMs + pressureTransitionMs + KILL_MS + CLEANUP_MS + ROUND_MS + softPatienceMs(node);
}

/** Returns the grace period of the soft thresholds. */
function softGraceMs({ resources }: NodePlan): number {
  return (resources?.soft?.graceSeconds ?? 0) * 1000;
}

/**
 * Returns the additional wait for an evicted pod with a grace period: twice the maximum grace period. No simulated pod
 * has a longer grace period in its spec.
 */
function softPatienceMs({ resources }: NodePlan): number {
  if (resources?.soft === undefined) return 0;
  const { maxPodGraceSeconds } = resources.soft;
  return 2000 * (maxPodGraceSeconds < 0 ? LONGEST_GRACE_SECONDS : maxPodGraceSeconds);
}

/** N2: on a healthy node, no container of a pod evicted for a soft threshold runs after its grace period. */
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
        wrong: `container ${name} of pod ${podUid}, which was evicted with a grace period of ${graceSeconds} s, is running ${agoMs} ms after that`,
      };
    }
  }
  return isSeen ? 'ok' : undefined;
});

/**
 * N3: best-effort pods are rejected while there is memory pressure, and no pod is rejected for pressure that does not
 * exist.
 */
export const refusedUnderPressure: Invariant = invariant('N3', ['podRefused'], () => (observation, facts) => {
  if (observation.kind !== 'podRefused' || observation.reason !== 'Evicted') return undefined;
  const { uid, atMs } = observation;
  if (isCritical(uid, facts)) return { wrong: `critical pod ${uid} was rejected for pressure` };
  const { pressureTransitionMs = 0 } = facts.node.resources ?? {};
  const isDue = SCARCE.some((of) => {
    const bears = of === 'memory' && facts.pods.planOf(uid)?.cpu !== undefined;
    return facts.resources.lackOf(of).lastAtMs >= 0 && atMs < latestEndMs(of, pressureTransitionMs, facts) && !bears;
  });
  return judged(!isDue && `pod ${uid} was rejected for pressure that does not exist`);
});
