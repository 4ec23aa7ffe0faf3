import type { Facts } from '../facts/facts.ts';
import { SEEN_MS } from '../facts/manifest-facts.ts';
import { groupOf, type Period, periodsOf, REFUSAL_REASON, SHUTDOWN_REASON } from '../facts/shutdown-facts.ts';
import { calledFor, stoppedBy } from './called-for.ts';
import { type Invariant, invariant, judged } from './invariant.ts';

/** What virtual time may be off by. */
const TOLERANCE_MS = 50;
/** A kill is waited for so long at least, and for one and a half times its grace period. */
const LEAST_KILL_MS = 10_000;
/** Every container gets so long to stop. */
const LEAST_GRACE_SECONDS = 2;
/** How long it takes to see that pods have ended, and their volumes are gone. */
const SEES_MS = 3000;
/** Whoever is let in begins so soon. */
const BEGINS_MS = 2000;
/** A kubelet that was once connected is again so soon after the bus is back, or its lock was lost. */
const RECONNECTS_MS = 5000;
/** One that never was tries again each minute. */
const CONNECTS_MS = 75_000;
/** A change of the node's readiness is shown so soon, where nothing is in the way. */
const SHOWN_MS = 30_000;

const ENDED = 'Pod was terminated in response to imminent node shutdown.';
const REFUSED = 'Pod was rejected: Pod was rejected as the node is shutting down.';
const NOT_READY = 'node is shutting down';

/** N9: while the kubelet knows that the machine shuts down no pod begins that came since, nor one that it has not let in before. */
export const noneBegins: Invariant = invariant('N9', ['kubeletStarted', 'stepBegan', 'call'], () => {
  const firstStepAtMs = new Map<string, number>();
  return (observation, facts) => {
    const { shutdown, pods } = facts;
    if (observation.kind === 'kubeletStarted') firstStepAtMs.clear();
    if (observation.kind === 'stepBegan') {
      // What begins after its end begins anew.
      if (observation.step !== 'syncPod') firstStepAtMs.delete(observation.uid);
      else if (!firstStepAtMs.has(observation.uid)) firstStepAtMs.set(observation.uid, observation.atMs);
    }
    if (observation.kind !== 'call' || observation.call.name !== 'runPodSandbox' || !shutdown.isHeard) return undefined;
    const uid = calledFor(observation.call, facts) ?? '';
    const beganAtMs = firstStepAtMs.get(uid) ?? observation.atMs;
    const agoMs = beganAtMs - shutdown.heardAtMs;
    if (agoMs < 0) return 'ok';
    // Whoever was there before, and was gone for too short a time to be seen to be, goes on.
    const seenGone = pods.lastUnwantedAtMs(uid) > shutdown.heardAtMs && pods.lastUnwantedAtMs(uid) <= beganAtMs;
    // So does one whose manifest is broken, and that the kubelet may remember.
    const cameSince = seenGone && !pods.isUnsure(uid);
    // Whoever was let in before begins soon after that, where nothing is in the way.
    const namesake = pods.knownUids.some((one) => one !== uid && pods.planOf(one)?.name === pods.planOf(uid)?.name);
    const isLate = agoMs > BEGINS_MS && facts.firstFaultAtMs > observation.atMs && !namesake;
    return judged(
      (cameSince || isLate) && `pod ${uid} begins ${agoMs} ms after the kubelet has heard that the machine shuts down`,
    );
  };
});

/** N9: a pod that comes while the machine shuts down is refused in upstream's words, and none is when it does not. */
export const refusedWhileItLasts: Invariant = invariant('N9', ['kubeletStarted', 'podRefused', 'status'], () => {
  const refused = new Set<string>();
  return (observation, { shutdown, deadlines }) => {
    // Whom the last one refused, and had no time to tell so, this one may let in.
    if (observation.kind === 'kubeletStarted') refused.clear();
    if (observation.kind === 'podRefused') {
      if (observation.reason !== REFUSAL_REASON) return undefined;
      refused.add(observation.uid);
      const isDue = shutdown.isHeard || shutdown.heardAtMs === observation.atMs;
      return judged(!isDue && `pod ${observation.uid} is refused for a shutdown, and there is none`);
    }
    if (observation.kind !== 'status') return undefined;
    const { pod, status } = observation.status;
    // The first status that it has then.
    if (!refused.delete(pod.metadata.uid)) return undefined;
    // That it is over its deadline meanwhile is said in the place of that, as upstream does.
    if (deadlines.mayBeOver(pod.metadata.uid)) return undefined;
    const { phase, reason, message } = status;
    const inWords = phase === 'Failed' && reason === REFUSAL_REASON && message === REFUSED;
    return judged(!inWords && `pod ${pod.metadata.uid} is refused with: ${phase} ${reason}: ${message}`);
  };
});

/**
 * N9: pods of a lower priority have ended, or used up their time, before those of a higher one are told to, and all of them before the
 * machine is let go.
 */
export const groupsTakeTurns: Invariant = invariant('N9', ['stepBegan', 'lock'], () => (observation, facts) => {
  const { shutdown, node, pods } = facts;
  if (node.shutdown === undefined) return undefined;
  const periods = periodsOf(node.shutdown);
  if (observation.kind === 'lock') {
    if (observation.how !== 'released' || !shutdown.isHeard || !facts.kubeletUp) return undefined;
    const due = stillDue(periods, periods.length, facts);
    return judged(due && `the machine is let go while ${due}`);
  }
  if (observation.kind !== 'stepBegan' || observation.reason !== SHUTDOWN_REASON) return undefined;
  const { uid } = observation;
  if (!shutdown.everHeard) return { wrong: `pod ${uid} is ended for a shutdown, and there is none` };
  if (!shutdown.isHeard) return undefined;
  // Who is still being ended for a shutdown that was called off waits for nobody.
  const toldAtMs = shutdown.toldAtMs(uid) ?? observation.atMs;
  if (toldAtMs < shutdown.heardAtMs && facts.syncBeganAtMs(uid) < toldAtMs) return undefined;
  const due = stillDue(periods, groupOf(periods, pods.planOf(uid)), facts);
  return judged(due && `pod ${uid} is told to end while ${due}`);
});

/** What runs of the groups below one, and has time left: no group can have been told to end sooner than the one below it was over. */
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
        return `container ${life.name} of pod ${uid} runs, of a priority whose time is over in ${untilMs - nowMs} ms`;
      }
      overAtMs = Math.max(overAtMs, untilMs);
    }
    fromMs = overAtMs;
  }
  return undefined;
}

/** How long a pod is waited for at least: no longer than its group has, nor than a kill of it may take. */
function waitMs(uid: string, groupSeconds: number, { pods }: Facts): number {
  const own = Math.min(...pods.plansOf(uid).map(({ graceSeconds }) => graceSeconds));
  const graceMs = Math.min(own, groupSeconds) * 1000;
  return Math.min(groupSeconds * 1000, Math.max(LEAST_KILL_MS, graceMs * 1.5));
}

/** N9: what a pod has to end is no more than it asks for, and no more than its group has. */
export const graceIsTheLesser: Invariant = invariant('N9', ['call'], () => (observation, facts) => {
  if (observation.kind !== 'call' || observation.call.name !== 'stopContainer') return undefined;
  const { shutdown, pods } = facts;
  const [life] = stoppedBy(observation.call, facts);
  const toldAtMs = life && shutdown.toldAtMs(life.podUid);
  if (life === undefined || toldAtMs === undefined || pods.lastUnwantedAtMs(life.podUid) > toldAtMs) return undefined;
  const { timeout = 0 } = observation.call.args[0] as { readonly timeout?: number };
  const own = Math.max(...pods.plansOf(life.podUid).map(({ graceSeconds }) => graceSeconds));
  const most = Math.max(LEAST_GRACE_SECONDS, Math.min(own, facts.shutdownGraceSeconds(life.podUid)));
  return judged(timeout > most && `container ${life.name} of pod ${life.podUid} has ${timeout} s to end, not ${most}`);
});

/** N9: how a pod has ended that was ended for a shutdown is said in upstream's words. */
export const endedInWords: Invariant = invariant('N9', ['kubeletStarted', 'podEndedByNode', 'status'], () => {
  const otherwise = new Set<string>();
  return (observation, { shutdown, pods, deadlines }) => {
    if (observation.kind === 'kubeletStarted') otherwise.clear();
    if (observation.kind === 'podEndedByNode') otherwise.add(observation.uid);
    if (observation.kind !== 'status' || !observation.status.finished) return undefined;
    const { pod, status } = observation.status;
    const { uid } = pod.metadata;
    const toldAtMs = shutdown.toldAtMs(uid);
    // A UID that came again is another pod.
    if (toldAtMs === undefined || otherwise.has(uid) || pods.lastUnwantedAtMs(uid) > toldAtMs) return undefined;
    // That it is over its deadline meanwhile is said in the place of that, as upstream does.
    if (deadlines.mayBeOver(uid)) return undefined;
    const { phase, reason, message, conditions = [] } = status;
    if (phase !== 'Failed' && phase !== 'Succeeded')
      return { wrong: `pod ${uid} was ended for a shutdown, and is ${phase}` };
    if (reason !== SHUTDOWN_REASON || message !== ENDED) {
      return { wrong: `pod ${uid} was ended for a shutdown, and says ${reason}: ${message}` };
    }
    const target = conditions.find(({ type }) => type === 'DisruptionTarget');
    const isTarget = target?.status === 'True' && target.reason === 'TerminationByKubelet' && target.message === ENDED;
    return judged(
      !isTarget && `pod ${uid} was ended for a shutdown, and its condition DisruptionTarget does not say so`,
    );
  };
});

/** N9: while the machine may shut down a lock delays it; it is given back for a shutdown only. */
export const locksAreHeld: Invariant = invariant('N9', ['health', 'lock'], () => (observation, facts) => {
  const { shutdown, node, kubeletStartedAtMs, runtimeChangedAtMs } = facts;
  if (node.shutdown === undefined || !facts.kubeletUp) return undefined;
  if (observation.kind === 'lock') {
    const lost = observation.how === 'released' && observation.held === 0 && !shutdown.isHeard;
    return judged(lost && shutdown.heardAtMs < observation.atMs && 'the lock is given back, and nobody shuts down');
  }
  if (shutdown.isSaid || shutdown.isHeard || !shutdown.busUp || !facts.runtimeUp) return undefined;
  const changedAtMs = Math.max(
    shutdown.saidAtMs,
    shutdown.heardAtMs,
    shutdown.busChangedAtMs,
    shutdown.lockChangedAtMs,
  );
  // It begins when the runtime has answered.
  const faultsMs = shutdown.hasWatched ? -1 : Math.max(facts.ownFaultsOverAtMs, runtimeChangedAtMs);
  const sinceMs = Math.max(changedAtMs, kubeletStartedAtMs, faultsMs);
  const waitedMs = observation.atMs - sinceMs;
  if (shutdown.locks === 0 && waitedMs < (shutdown.hasWatched ? RECONNECTS_MS : CONNECTS_MS)) return undefined;
  if (shutdown.locks > 1 && observation.atMs - shutdown.lockChangedAtMs < RECONNECTS_MS) return undefined;
  return judged(
    shutdown.locks !== 1 && `${shutdown.locks} locks are held, ${waitedMs} ms after anything happened to that`,
  );
});

/** N9: the machine waits no longer than all pods have time together. */
export const waitsNoLonger: Invariant = invariant('N9', ['settled'], () => (observation, facts) => {
  const { shutdown, node, pods } = facts;
  if (node.shutdown === undefined || !shutdown.isHeard || shutdown.locks === 0 || !facts.kubeletUp) return undefined;
  const periods = periodsOf(node.shutdown);
  // Who went since is waited for as long as it was there when the machine began to shut down.
  const known = pods.knownUids.filter((uid) => {
    const wasThere = pods.unwantedSinceMs(uid) > shutdown.heardAtMs - SEEN_MS;
    return facts.isKnownToKubelet(uid) || pods.wanted.has(uid) || wasThere;
  });
  const groups = new Set(known.map((uid) => groupOf(periods, pods.planOf(uid))));
  const most = periods.reduce((sum, { graceSeconds }, index) => sum + (groups.has(index) ? graceSeconds : 0), 0);
  const heldMs = observation.atMs - shutdown.heardAtMs;
  return judged(
    heldMs > most * 1000 + SEES_MS && `the machine waits for ${heldMs} ms, and all pods together have ${most} s`,
  );
});

/** N9: a kubelet that watches hears that the machine shuts down, or does not any more, missed or not. */
export const newsIsHeard: Invariant = invariant('N9', ['health'], () => (observation, facts) => {
  const { shutdown, node, kubeletStartedAtMs } = facts;
  if (observation.kind !== 'health' || node.shutdown === undefined || !facts.kubeletUp || !shutdown.busUp)
    return undefined;
  const watches = shutdown.hasWatched || shutdown.everHeard;
  const sinceMs = Math.max(shutdown.saidAtMs, shutdown.busChangedAtMs, kubeletStartedAtMs);
  if (!watches || observation.atMs - sinceMs < RECONNECTS_MS) return undefined;
  return judged(
    shutdown.isSaid !== shutdown.isHeard &&
      `the machine ${shutdown.isSaid ? 'shuts down' : 'does not shut down'}, and the kubelet does not know`,
  );
});

/** N9: the node is not ready, and says why, for as long as the machine shuts down. */
export const notReadyIsShown: Invariant = invariant('N9', ['health'], () => (observation, facts) => {
  const { shutdown, node, api, kubeletStartedAtMs } = facts;
  if (observation.kind !== 'health' || node.shutdown === undefined || !facts.kubeletUp) return undefined;
  const ready = observation.cluster?.ready;
  if (ready === undefined || api.inTrouble) return undefined;
  const sinceMs = Math.max(api.troubleAtMs, shutdown.heardAtMs, kubeletStartedAtMs);
  if (observation.atMs - sinceMs < SHOWN_MS) return undefined;
  const says = ready.startsWith('False: ') && ready.includes(NOT_READY);
  return judged(says !== shutdown.isHeard && `the node says ${ready}`);
});
