import type { Facts } from '../facts/facts.ts';
import { SEEN_MS } from '../facts/manifest-facts.ts';
import { groupOf, type Period, periodsOf, REFUSAL_REASON, SHUTDOWN_REASON } from '../facts/shutdown-facts.ts';
import { calledFor, stoppedBy } from './called-for.ts';
import { type Invariant, invariant, judged } from './invariant.ts';

/** Tolerance for rounding of virtual time. */
const TOLERANCE_MS = 50;
/**
 * Minimum time for which the kubelet waits until a pod is stopped. The kubelet waits longer if one and a half times the
 * grace period is longer.
 */
const LEAST_KILL_MS = 10_000;
/** Minimum grace period of every container. */
const LEAST_GRACE_SECONDS = 2;
/** Time in which the kubelet detects that pods have terminated and their volumes are gone. */
const SEES_MS = 3000;
/** Maximum time from the admission of a pod to its start. */
const BEGINS_MS = 2000;
/**
 * Maximum time in which a kubelet that was connected before reconnects, after the bus is up again or the inhibitor lock
 * was lost.
 */
const RECONNECTS_MS = 5000;
/** Maximum time in which a kubelet that was never connected connects. Such a kubelet retries every minute. */
const CONNECTS_MS = 75_000;
/** Maximum time until a change of the node's readiness is shown if nothing prevents it. */
const SHOWN_MS = 30_000;

const ENDED = 'Pod was terminated in response to imminent node shutdown.';
const REFUSED = 'Pod was rejected: Pod was rejected as the node is shutting down.';
const NOT_READY = 'node is shutting down';

/**
 * N9: while the kubelet knows of a shutdown, no pod starts that was added or admitted after the kubelet had learned of
 * it.
 */
export const noneBegins: Invariant = invariant('N9', ['kubeletStarted', 'stepBegan', 'call'], () => {
  const firstStepAtMs = new Map<string, number>();
  return (observation, facts) => {
    const { shutdown, pods } = facts;
    if (observation.kind === 'kubeletStarted') firstStepAtMs.clear();
    if (observation.kind === 'stepBegan') {
      // A pod that starts after its termination counts as new, so its first step is recorded again.
      if (observation.step !== 'syncPod') firstStepAtMs.delete(observation.uid);
      else if (!firstStepAtMs.has(observation.uid)) firstStepAtMs.set(observation.uid, observation.atMs);
    }
    if (observation.kind !== 'call' || observation.call.name !== 'runPodSandbox' || !shutdown.isHeard) return undefined;
    const uid = calledFor(observation.call, facts) ?? '';
    const beganAtMs = firstStepAtMs.get(uid) ?? observation.atMs;
    const agoMs = beganAtMs - shutdown.heardAtMs;
    if (agoMs < 0) return 'ok';
    // A pod that existed before the shutdown continues if it was removed too briefly for the kubelet to notice.
    const seenGone = pods.lastUnwantedAtMs(uid) > shutdown.heardAtMs && pods.lastUnwantedAtMs(uid) <= beganAtMs;
    // A pod whose manifest is malformed also continues, because the kubelet may have stored its last good version.
    const cameSince = seenGone && !pods.isUnsure(uid);
    // A pod that was admitted before the shutdown starts soon afterwards if no fault prevents that.
    const namesake = pods.knownUids.some((one) => one !== uid && pods.planOf(one)?.name === pods.planOf(uid)?.name);
    const isLate = agoMs > BEGINS_MS && facts.firstFaultAtMs > observation.atMs && !namesake;
    return judged(
      (cameSince || isLate) && `pod ${uid} started ${agoMs} ms after the kubelet had learned of the shutdown`,
    );
  };
});

/**
 * N9: a pod that is added during a shutdown is rejected with upstream's message, and no pod is rejected with this
 * message without a shutdown.
 */
export const refusedWhileItLasts: Invariant = invariant('N9', ['kubeletStarted', 'podRefused', 'status'], () => {
  const refused = new Set<string>();
  return (observation, { shutdown, deadlines }) => {
    // The new kubelet may admit a pod that the previous kubelet rejected without reporting the rejection.
    if (observation.kind === 'kubeletStarted') refused.clear();
    if (observation.kind === 'podRefused') {
      if (observation.reason !== REFUSAL_REASON) return undefined;
      refused.add(observation.uid);
      const isDue = shutdown.isHeard || shutdown.heardAtMs === observation.atMs;
      return judged(!isDue && `pod ${observation.uid} was rejected for a shutdown that does not exist`);
    }
    if (observation.kind !== 'status') return undefined;
    const { pod, status } = observation.status;
    // Only the first status after the rejection is judged.
    if (!refused.delete(pod.metadata.uid)) return undefined;
    // An exceeded deadline replaces the reason for the rejection, as in upstream.
    if (deadlines.mayBeOver(pod.metadata.uid)) return undefined;
    const { phase, reason, message } = status;
    const inWords = phase === 'Failed' && reason === REFUSAL_REASON && message === REFUSED;
    return judged(!inWords && `pod ${pod.metadata.uid} was rejected with: ${phase} ${reason}: ${message}`);
  };
});

/**
 * N9: pods of a higher priority are stopped only after pods of a lower priority have terminated or used up their time.
 * The inhibitor lock is released only after all pods have terminated or used up their time.
 */
export const groupsTakeTurns: Invariant = invariant('N9', ['stepBegan', 'lock'], () => (observation, facts) => {
  const { shutdown, node, pods } = facts;
  if (node.shutdown === undefined) return undefined;
  const periods = periodsOf(node.shutdown);
  if (observation.kind === 'lock') {
    if (observation.how !== 'released' || !shutdown.isHeard || !facts.kubeletUp) return undefined;
    const due = stillDue(periods, periods.length, facts);
    return judged(due && `the inhibitor lock was released while ${due}`);
  }
  if (observation.kind !== 'stepBegan' || observation.reason !== SHUTDOWN_REASON) return undefined;
  const { uid } = observation;
  if (!shutdown.everHeard) return { wrong: `pod ${uid} was terminated for a shutdown that does not exist` };
  if (!shutdown.isHeard) return undefined;
  // A pod that is still being terminated for a cancelled shutdown does not wait for other pods.
  const toldAtMs = shutdown.toldAtMs(uid) ?? observation.atMs;
  if (toldAtMs < shutdown.heardAtMs && facts.syncBeganAtMs(uid) < toldAtMs) return undefined;
  const due = stillDue(periods, groupOf(periods, pods.planOf(uid)), facts);
  return judged(due && `pod ${uid} was stopped while ${due}`);
});

/**
 * Returns a running container of a lower priority group that still has time, as text. The time of a group starts when
 * the time of the group below is over.
 */
function stillDue(periods: readonly Period[], below: number, facts: Facts): string | undefined {
  const { shutdown, nowMs } = facts;
  let fromMs = shutdown.heardAtMs;
  for (const [group, { graceSeconds }] of periods.slice(0, below).entries()) {
    let overAtMs = fromMs;
    for (const uid of shutdown.due) {
      if (groupOf(periods, facts.pods.planOf(uid)) !== group || !facts.pods.wanted.has(uid)) continue;
      const life = facts.lives.runningOf(uid).find((one) => !facts.wasStarting(one));
      const mostMs = fromMs + waitMs(uid, graceSeconds, facts);
      const untilMs = life ? mostMs : Math.min(shutdown.stoppedAtMs(uid), mostMs);
      if (life && nowMs < untilMs - TOLERANCE_MS) {
        return `container ${life.name} of pod ${uid} is running and its priority group has ${untilMs - nowMs} ms left`;
      }
      overAtMs = Math.max(overAtMs, untilMs);
    }
    fromMs = overAtMs;
  }
  return undefined;
}

/**
 * Returns the minimum wait for a pod: the time of its group or the time that stopping the pod may take, whichever is
 * less.
 */
function waitMs(uid: string, groupSeconds: number, { pods }: Facts): number {
  const own = Math.min(...pods.plansOf(uid).map(({ graceSeconds }) => graceSeconds));
  const graceMs = Math.min(own, groupSeconds) * 1000;
  return Math.min(groupSeconds * 1000, Math.max(LEAST_KILL_MS, graceMs * 1.5));
}

/**
 * N9: in a shutdown, the grace period of a pod is at most its own grace period and at most the period of its priority
 * group.
 */
export const graceIsTheLesser: Invariant = invariant('N9', ['call'], () => (observation, facts) => {
  if (observation.kind !== 'call' || observation.call.name !== 'stopContainer') return undefined;
  const { shutdown, pods } = facts;
  const [life] = stoppedBy(observation.call, facts);
  const toldAtMs = life && shutdown.toldAtMs(life.podUid);
  if (life === undefined || toldAtMs === undefined || pods.lastUnwantedAtMs(life.podUid) > toldAtMs) return undefined;
  const { timeout = 0 } = observation.call.args[0] as { readonly timeout?: number };
  const own = Math.max(...pods.plansOf(life.podUid).map(({ graceSeconds }) => graceSeconds));
  const most = Math.max(LEAST_GRACE_SECONDS, Math.min(own, facts.shutdownGraceSeconds(life.podUid)));
  return judged(
    timeout > most &&
      `container ${life.name} of pod ${life.podUid} was stopped with a grace period of ${timeout} s, not ${most} s`,
  );
});

/** N9: the final status of a pod that was terminated for a shutdown has upstream's reason and message. */
export const endedInWords: Invariant = invariant('N9', ['kubeletStarted', 'podEndedByNode', 'status'], () => {
  const otherwise = new Set<string>();
  return (observation, { shutdown, pods, deadlines }) => {
    if (observation.kind === 'kubeletStarted') otherwise.clear();
    if (observation.kind === 'podEndedByNode') otherwise.add(observation.uid);
    if (observation.kind !== 'status' || !observation.status.finished) return undefined;
    const { pod, status } = observation.status;
    const { uid } = pod.metadata;
    const toldAtMs = shutdown.toldAtMs(uid);
    // A pod that was added again under the same UID counts as another pod.
    if (toldAtMs === undefined || otherwise.has(uid) || pods.lastUnwantedAtMs(uid) > toldAtMs) return undefined;
    // An exceeded deadline replaces the reason for the termination, as in upstream.
    if (deadlines.mayBeOver(uid)) return undefined;
    const { phase, reason, message, conditions = [] } = status;
    if (phase !== 'Failed' && phase !== 'Succeeded')
      return { wrong: `pod ${uid} was terminated for a shutdown but has phase ${phase}` };
    if (reason !== SHUTDOWN_REASON || message !== ENDED) {
      return { wrong: `pod ${uid} was terminated for a shutdown but reports ${reason}: ${message}` };
    }
    const target = conditions.find(({ type }) => type === 'DisruptionTarget');
    const isTarget = target?.status === 'True' && target.reason === 'TerminationByKubelet' && target.message === ENDED;
    return judged(
      !isTarget && `pod ${uid} was terminated for a shutdown but its condition DisruptionTarget does not report so`,
    );
  };
});

/** N9: the kubelet always holds an inhibitor lock, and releases it only for a shutdown. */
export const locksAreHeld: Invariant = invariant('N9', ['health', 'lock'], () => (observation, facts) => {
  const { shutdown, node, kubeletStartedAtMs, runtimeChangedAtMs } = facts;
  if (node.shutdown === undefined || !facts.kubeletUp) return undefined;
  if (observation.kind === 'lock') {
    const lost = observation.how === 'released' && observation.held === 0 && !shutdown.isHeard;
    return judged(
      lost && shutdown.heardAtMs < observation.atMs && 'the inhibitor lock was released without a shutdown',
    );
  }
  if (shutdown.isSaid || shutdown.isHeard || !shutdown.busUp || !facts.runtimeUp) return undefined;
  const changedAtMs = Math.max(
    shutdown.saidAtMs,
    shutdown.heardAtMs,
    shutdown.busChangedAtMs,
    shutdown.lockChangedAtMs,
  );
  // The kubelet takes its first lock after the runtime has responded.
  const faultsMs = shutdown.hasWatched ? -1 : Math.max(facts.ownFaultsOverAtMs, runtimeChangedAtMs);
  const sinceMs = Math.max(changedAtMs, kubeletStartedAtMs, faultsMs);
  const waitedMs = observation.atMs - sinceMs;
  if (shutdown.locks === 0 && waitedMs < (shutdown.hasWatched ? RECONNECTS_MS : CONNECTS_MS)) return undefined;
  if (shutdown.locks > 1 && observation.atMs - shutdown.lockChangedAtMs < RECONNECTS_MS) return undefined;
  return judged(
    shutdown.locks !== 1 && `${shutdown.locks} inhibitor locks are held ${waitedMs} ms after the last change`,
  );
});

/** N9: the machine waits no longer than the sum of the grace periods of the priority groups with pods. */
export const waitsNoLonger: Invariant = invariant('N9', ['settled'], () => (observation, facts) => {
  const { shutdown, node, pods } = facts;
  if (node.shutdown === undefined || !shutdown.isHeard || shutdown.locks === 0 || !facts.kubeletUp) return undefined;
  const periods = periodsOf(node.shutdown);
  // A pod that was removed since the shutdown started also counts: the kubelet has to wait for its termination.
  const known = pods.knownUids.filter((uid) => {
    const wasThere = pods.unwantedSinceMs(uid) > shutdown.heardAtMs - SEEN_MS;
    return facts.isKnownToKubelet(uid) || pods.wanted.has(uid) || wasThere;
  });
  const groups = new Set(known.map((uid) => groupOf(periods, pods.planOf(uid))));
  const most = periods.reduce((sum, { graceSeconds }, index) => sum + (groups.has(index) ? graceSeconds : 0), 0);
  const heldMs = observation.atMs - shutdown.heardAtMs;
  return judged(
    heldMs > most * 1000 + SEES_MS &&
      `the machine has waited for ${heldMs} ms, but the grace periods of all groups sum up to ${most} s`,
  );
});

/** N9: a connected kubelet knows whether a shutdown is in progress, even if the kubelet missed the announcement. */
export const newsIsHeard: Invariant = invariant('N9', ['health'], () => (observation, facts) => {
  const { shutdown, node, kubeletStartedAtMs } = facts;
  if (observation.kind !== 'health' || node.shutdown === undefined || !facts.kubeletUp || !shutdown.busUp)
    return undefined;
  const watches = shutdown.hasWatched || shutdown.everHeard;
  const sinceMs = Math.max(shutdown.saidAtMs, shutdown.busChangedAtMs, kubeletStartedAtMs);
  if (!watches || observation.atMs - sinceMs < RECONNECTS_MS) return undefined;
  return judged(
    shutdown.isSaid !== shutdown.isHeard &&
      `${shutdown.isSaid ? 'a shutdown' : 'no shutdown'} is announced, and the kubelet does not know`,
  );
});

/** N9: during a shutdown the node is not ready and reports the shutdown as the reason. */
export const notReadyIsShown: Invariant = invariant('N9', ['health'], () => (observation, facts) => {
  const { shutdown, node, api, kubeletStartedAtMs } = facts;
  if (observation.kind !== 'health' || node.shutdown === undefined || !facts.kubeletUp) return undefined;
  const ready = observation.cluster?.ready;
  if (ready === undefined || api.inTrouble) return undefined;
  const sinceMs = Math.max(api.troubleAtMs, shutdown.heardAtMs, kubeletStartedAtMs);
  if (observation.atMs - sinceMs < SHOWN_MS) return undefined;
  const says = ready.startsWith('False: ') && ready.includes(NOT_READY);
  return judged(says !== shutdown.isHeard && `the node reports ${ready}`);
});
