import type { Facts } from '../facts/facts.ts';
import {
  type ContainerPlan,
  findPlan,
  hasFailed,
  illAfterMs,
  isSidecar,
  mayRestart,
  type PodPlan,
  restartPolicyOf,
  rulesOf,
} from '../scenario/plans.ts';
import { LIVENESS_FAILURE_THRESHOLD } from '../scenario/probe-plans.ts';
import type { Life } from '../world/ledger.ts';
import { type Invariant, invariant, judged } from './invariant.ts';

/** Tolerance for rounding of virtual time. */
const TOLERANCE_MS = 50;
/** Minimum grace period of every container. */
const LEAST_GRACE_MS = 2000;
/** A run of at least this duration resets the crash count. */
const LONG_RUN_MS = 600_000;
/** Time after the start of the kubelet or of the runtime by which the kubelet has read all records. */
const READ_MS = 10_000;
/** A container that starts this soon after the request for its sandbox may start in the same second as the sandbox. */
const NEW_SANDBOX_MS = 1500;

/** C1: a pod never has two running containers with the same name. */
export const oneOfAName: Invariant = invariant('C1', ['containerStarted'], () => (observation, facts) => {
  if (observation.kind !== 'containerStarted') return undefined;
  const { life } = observation;
  const twin = facts.lives.runningOf(life.podUid).find((other) => other !== life && other.name === life.name);
  return judged(
    twin &&
      `container ${life.name} of pod ${life.podUid} started as attempt ${life.attempt} while attempt ${twin.attempt} is running`,
  );
});

/** C2: a container that crashes repeatedly is not restarted before its back-off is over. */
export const backOff: Invariant = invariant('C2', ['containerStarted'], () => (observation, facts) => {
  if (observation.kind !== 'containerStarted') return undefined;
  const { life } = observation;
  const crashes = crashesInARow(life, facts);
  const last = crashes.at(-1);
  // The durations of runs and pauses are measured by the wall clock.
  if (last?.endedAtMs === undefined || facts.clockJumpedAtMs >= (crashes[0]?.startedAtMs ?? 0)) return undefined;
  const { initialMs, maxMs } = facts.node.backOff;
  const row = crashes.length;
  const least = row < 2 ? 0 : Math.min(initialMs * 2 ** (row - 2), maxMs);
  const waitedMs = life.startedAtMs - last.endedAtMs;
  return judged(
    waitedMs < least - TOLERANCE_MS &&
      `container ${life.name} of pod ${life.podUid} started ${waitedMs} ms after crash number ${crashes.length}, before its back-off of ${least} ms was over`,
  );
});

/**
 * Returns the consecutive crashes before a start, back to the last change of the container's spec or removal of its
 * pod.
 */
function crashesInARow(life: Life, facts: Facts): readonly Life[] {
  const crashes: Life[] = [];
  // Init containers run again in a new sandbox, and their old records are removed.
  const isInit = facts.pods.planOf(life.podUid)?.init.some(({ name }) => name === life.name) ?? false;
  for (const earlier of facts.lives.of(life.podUid, life.name).toReversed()) {
    // If the removal of a container was requested before its start, the kubelet never saw how the container exited.
    if (earlier === life || facts.wasRemovedUnstarted(earlier)) continue;
    // A container that exits while it is being stopped, or together with its sandbox, has not crashed.
    const lost = facts.lives.sandboxLostAtMs(earlier.sandboxId) !== undefined;
    // A stop for the liveness probe is not known as a crash to a kubelet that did not see the exit.
    const ill = earlier.plan.probes?.liveness !== undefined && facts.stopAskedAtMs(earlier.id) !== undefined;
    const stopped = earlier.termAtMs !== undefined || lost || ill;
    const byItself = !stopped && (earlier.end === 'exited' || earlier.end === 'lost');
    const crashed = byItself || (!lost && (facts.wasIll(earlier) || (!ill && isEndedByHook(earlier, facts))));
    const long = (earlier.endedAtMs ?? 0) - earlier.startedAtMs > LONG_RUN_MS;
    const isNewSandbox = isInit && earlier.sandboxId !== life.sandboxId;
    const same = !isNewSandbox && JSON.stringify(earlier.plan) === JSON.stringify(life.plan);
    if (!crashed || long || !same || facts.pods.lastUnwantedAtMs(life.podUid) >= earlier.startedAtMs) break;
    // A container that must not be restarted runs again only if its pod is started again, after its records and the
    // kubelet's memory were lost.
    if (isDoneFor(facts, earlier) || isForgotten(earlier, facts)) break;
    // A change of requested or allocated resources resets the crash count.
    const { resources, numa } = facts;
    const changedAtMs = Math.max(resources.changedAtMs(life.podUid), numa.resizedAtMs(life.podUid));
    if (changedAtMs >= earlier.startedAtMs) break;
    // A restart of all containers resets the crash count, because their records are removed.
    if (facts.restartAll.isOver(earlier)) break;
    // A termination as an orphan makes the kubelet forget the crashes: a later pod with the same UID is a new pod.
    // (Other invariants check whether the termination was allowed.)
    if (facts.orphanEndedAtMs(life.podUid) >= earlier.startedAtMs) break;
    crashes.unshift(earlier);
  }
  return crashes;
}

/**
 * Reports whether a container was stopped because its `postStart` hook failed, and for no other known reason. A failed
 * hook counts as a crash.
 */
function isEndedByHook(life: Life, facts: Facts): boolean {
  const hook = facts.hooks.of(life);
  const toldAtMs = facts.stopAskedAtMs(life.id) ?? Number.POSITIVE_INFINITY;
  return hook?.fails === true && toldAtMs >= hook.untilMs && life.endedAtMs !== undefined && life.endedAtMs >= toldAtMs;
}

/** Reports whether a run ended such that its container must not be restarted. */
function isDoneFor(facts: Facts, life: Life): boolean {
  const pod = facts.pods.planOf(life.podUid);
  return pod !== undefined && !facts.mayRunAgain(pod, life);
}

/**
 * C3: init containers run one at a time, in order and before the main containers. Each init container runs once per
 * sandbox, or once since the last restart of all containers.
 */
export const initOrder: Invariant = invariant('C3', ['containerStarted'], () => (observation, facts) => {
  if (observation.kind !== 'containerStarted') return undefined;
  const { life } = observation;
  const pod = facts.pods.planOf(life.podUid);
  // Ephemeral containers do not wait for other containers.
  if (pod === undefined || isSidecar(pod, life.name) || findPlan(pod, life.name) === undefined) return undefined;
  const index = pod.init.findIndex(({ name }) => name === life.name);
  const before = index < 0 ? pod.init : pod.init.slice(0, index);
  const here = (name: string): readonly Life[] => livesHere(life, name, facts);
  const subject = `container ${life.name} of pod ${life.podUid}`;
  for (const { name } of before) {
    if (isSidecar(pod, name)) continue;
    const passed = here(name).some((earlier) => earlier.end !== undefined && !hasFailed(pod, name, earlier));
    if (!passed) return { wrong: `${subject} started before init container ${name} has completed` };
  }
  if (index < 0) return 'ok';
  const isKnown = (earlier: Life): boolean => !isForgotten(earlier, facts) && !isOfUnknownSandbox(earlier, facts);
  const started = pod.containers.find(({ name }) => here(name).some(isKnown));
  if (started !== undefined) return { wrong: `init ${subject} started after main container ${started.name}` };
  // A start may outlive its kubelet and complete after the next kubelet has requested the removal of the container. No
  // kubelet has then seen the run, so the container may run again.
  const again = here(life.name).some(
    (earlier) =>
      earlier !== life &&
      earlier.end !== undefined &&
      !hasFailed(pod, life.name, earlier) &&
      isKnown(earlier) &&
      !facts.wasRemovedUnstarted(earlier),
  );
  return judged(again && `init ${subject} started again in its sandbox although it has completed there`);
});

/**
 * Returns the runs of the named container in the sandbox of the given run, since the last restart of all containers.
 */
function livesHere({ podUid, sandboxId }: Life, name: string, facts: Facts): readonly Life[] {
  const sinceMs = facts.restartAll.doneAtMs(podUid);
  return facts.lives.of(podUid, name).filter((life) => life.sandboxId === sandboxId && life.startedAtMs >= sinceMs);
}

/**
 * C4: the containers after a sidecar start only after the sidecar has started, and the sidecar is stopped after the
 * main containers.
 */
export const sidecarOrder: Invariant = invariant(
  'C4',
  ['containerStarted', 'containerSignalled'],
  () => (observation, facts) => {
    if (observation.kind === 'containerStarted') {
      const { life } = observation;
      const pod = facts.pods.planOf(life.podUid);
      if (pod === undefined || findPlan(pod, life.name) === undefined) return undefined;
      const index = pod.init.findIndex(({ name }) => name === life.name);
      const before = (index < 0 ? pod.init : pod.init.slice(0, index)).filter(({ name }) => isSidecar(pod, name));
      if (before.length === 0) return undefined;
      const missing = before.find(({ name }) => livesHere(life, name, facts).length === 0);
      return judged(missing && `container ${life.name} of pod ${life.podUid} started before sidecar ${missing.name}`);
    }
    if (observation.kind !== 'containerSignalled') return undefined;
    return sidecarSignalled(observation.life, facts);
  },
);

/** Judges a stop request for a sidecar: all later containers must have exited, or the grace period must be over. */
function sidecarSignalled(life: Life, facts: Facts): ReturnType<typeof judged> | undefined {
  const pod = facts.pods.planOf(life.podUid);
  // Pods that only the runtime knows and pods whose sandbox is gone have no termination order.
  const lost = facts.lives.sandboxLostAtMs(life.sandboxId) !== undefined;
  if (pod === undefined || !isSidecar(pod, life.name) || facts.wasOrphaned(life.podUid) || lost) return undefined;
  // A sidecar whose hook has failed is stopped alone and restarted. A restart of all containers stops the containers in
  // any order, too.
  if (facts.hooks.mayHaveFailed(life) || facts.restartAll.mayEnd(life)) return undefined;
  const index = pod.init.findIndex(({ name }) => name === life.name);
  const sidecars = pod.init.slice(index + 1).filter(({ name }) => isSidecar(pod, name));
  const later = new Set([...sidecars, ...pod.containers].map(({ name }) => name));
  // When the grace period is over, all remaining containers are stopped together. The period starts with the first
  // request to stop a container, or earlier with the start of the termination.
  const asked = facts.lives.inSandbox(life.podUid, life.sandboxId).flatMap(({ id }) => facts.stopAskedAtMs(id) ?? []);
  const sinceMs = facts.nowMs - Math.min(...asked, facts.endAskedAtMs(life));
  // The first stop call comes after the preStop hook of its container.
  const graceMs = leastGraceSeconds(facts, life.podUid) * 1000 - Math.max(...pod.containers.map(hookMs));
  const inGrace = !isHurried(facts, life) && sinceMs < graceMs - TOLERANCE_MS;
  // Only containers that had started when a slow stop call was made count: later starts may come from another kubelet.
  const askedAtMs = facts.stopAskedAtMs(life.id) ?? facts.nowMs;
  const needy = facts.lives
    .runningOf(life.podUid)
    .filter(({ sandboxId, startedAtMs }) => sandboxId === life.sandboxId && startedAtMs <= askedAtMs)
    .find((other) => inGrace && later.has(other.name) && !facts.wasStarting(other));
  return judged(
    needy && `sidecar ${life.name} of pod ${life.podUid} was stopped while container ${needy.name} is running`,
  );
}

/** C5: a container is stopped with SIGTERM, and with SIGKILL only after its grace period. */
export const gracefulStop: Invariant = invariant('C5', ['containerEnded'], () => (observation, facts) => {
  if (observation.kind !== 'containerEnded' || observation.life.end !== 'killed') return undefined;
  const { life } = observation;
  // A container that starts late, during the termination, gets no full grace period.
  if (facts.endAskedAtMs(life) <= life.startedAtMs) return undefined;
  const subject = `container ${life.name} of pod ${life.podUid}`;
  // If the runtime refuses to stop a container, the container is killed without SIGTERM, but after its grace period.
  const toldAtMs = life.termAtMs ?? (facts.mayRefuseStops ? facts.stopAskedAtMs(life.id) : undefined);
  if (toldAtMs === undefined) return { wrong: `${subject} was killed without SIGTERM` };
  const pod = facts.pods.planOf(life.podUid);
  const short =
    pod === undefined ||
    isSidecar(pod, life.name) ||
    facts.wasOrphaned(life.podUid) ||
    isHurried(facts, life) ||
    facts.restartAll.mayEnd(life);
  const ownMs = leastGraceSeconds(facts, life.podUid) * 1000 - spentOnHookMs(life, facts);
  const graceMs = short ? LEAST_GRACE_MS : Math.max(LEAST_GRACE_MS, ownMs);
  // The kubelet's grace period starts with the stop request, even if the runtime sends the signal late.
  const hadMs = facts.nowMs - Math.min(toldAtMs, facts.stopAskedAtMs(life.id) ?? toldAtMs);
  return judged(
    hadMs < graceMs - TOLERANCE_MS &&
      `${subject} was killed ${hadMs} ms after its stop was requested, before its grace period of ${graceMs} ms was over`,
  );
});

/**
 * Reports whether the pod is terminated by the node with a grace period of one second. Pods that are evicted for a soft
 * threshold have a longer grace period.
 */
function isHurried(facts: Facts, { podUid }: Life): boolean {
  return facts.resources.wasEnded(podUid) && facts.resources.softlyEvictedAtMs(podUid) < 0;
}

/**
 * Returns the shortest possible grace period of a pod. The result is the minimum over all versions of its spec, user
 * deletions, the period of its priority group in a shutdown, and the limit for evictions by soft thresholds.
 */
function leastGraceSeconds(facts: Facts, uid: string): number {
  const byNode = Math.min(facts.shutdownGraceSeconds(uid), facts.evictionGraceSeconds(uid));
  const most = Math.min(byNode, facts.deletions.graceSeconds(uid), leftOfDeletionSeconds(facts, uid));
  return Math.min(most, ...facts.pods.plansOf(uid).map(({ graceSeconds }) => graceSeconds));
}

/**
 * Returns the least remaining grace period of a deletion, in seconds, for a kubelet that has known the pod only as
 * deleted; `Infinity` for other kubelets. Times in the API are whole seconds.
 */
function leftOfDeletionSeconds(facts: Facts, uid: string): number {
  const { deletions, clockJumpedAtMs } = facts;
  const firstAskedAtMs = deletions.firstAskedAtMs(uid);
  if (firstAskedAtMs > facts.nowMs || facts.syncBeganAtMs(uid) <= facts.nowMs) return Number.POSITIVE_INFINITY;
  if (clockJumpedAtMs >= firstAskedAtMs) return 1;
  return Math.max(1, (deletions.dueAtMs(uid) - facts.endBeganAtMs(uid)) / 1000 - 1);
}

/**
 * Returns how much of its grace period a container may have spent on its preStop hook before the stop request. One
 * attempt to stop the container may start the hook, and the next attempt stop the container.
 */
function spentOnHookMs(life: Life, facts: Facts): number {
  if (life.plan.preStopSeconds === undefined) return 0;
  // Without an observation of the preStop hook's start, a stop for the liveness probe may have spent any time on the
  // hook.
  if (life.plan.probes?.liveness !== undefined) return Number.POSITIVE_INFINITY;
  const toldAtMs = facts.stopAskedAtMs(life.id) ?? facts.nowMs;
  const others = facts.lives
    .inSandbox(life.podUid, life.sandboxId)
    .map(({ id }) => facts.stopAskedAtMs(id) ?? toldAtMs);
  const lostAtMs = facts.lives.sandboxLostAtMs(life.sandboxId) ?? toldAtMs;
  const beganAtMs = Math.min(facts.endAskedAtMs(life), lostAtMs, ...others);
  return Math.max(hookMs(life.plan), toldAtMs - beganAtMs);
}

function hookMs({ preStopSeconds = 0 }: ContainerPlan): number {
  return preStopSeconds * 1000;
}

/** C6: restart rules and restart policy decide whether an exited container is restarted. */
export const restartPolicies: Invariant = invariant('C6', ['containerStarted'], () => (observation, facts) => {
  if (observation.kind !== 'containerStarted') return undefined;
  const { life } = observation;
  const pod = facts.pods.planOf(life.podUid);
  const last = facts.lives.of(life.podUid, life.name).at(-2);
  if (pod === undefined || last?.exitCode === undefined) return undefined;
  if (facts.pods.lastUnwantedAtMs(life.podUid) >= facts.decidedAtMs(last)) return undefined;
  if (JSON.stringify(last.plan) !== JSON.stringify(life.plan)) return undefined;
  // A container that exits while its lost sandbox is cleaned up counts as still running, and is started again in the
  // next sandbox.
  if ((facts.lives.sandboxLostAtMs(last.sandboxId) ?? Number.POSITIVE_INFINITY) <= (last.endedAtMs ?? 0))
    return undefined;
  if (isForgotten(last, facts) || facts.wasRemovedUnstarted(last)) return undefined;
  if (facts.restartAll.isOver(last)) return 'ok';
  const isInit = pod.init.some(({ name }) => name === life.name);
  if (isInit && (last.sandboxId !== life.sandboxId || isSidecar(pod, life.name))) return undefined;
  return judged(
    !allowed(pod, last, isInit, facts) &&
      `container ${life.name} of pod ${life.podUid} was restarted after ${last.end} ${last.exitCode}, against its restart policy`,
  );
});

/**
 * Reports whether no component knows how a container exited. The record of the exit was removed with the pod or for
 * lack of disk space. The kubelet was killed before the API server got the status. For static pods, the runtime has the
 * only record.
 */
function isForgotten(life: Life, facts: Facts): boolean {
  const { id, podUid, endedAtMs = 0 } = life;
  // The record was removed before the running kubelet had reported the exit. If a rule can restart all containers, a
  // missing record means that all containers are restarted.
  if (facts.records.isLost(life) || isLostWithLater(life, facts) || mayHaveBegunAnew(life, facts)) return true;
  if (isInitOfEitherSandbox(life, facts)) return true;
  if (facts.kubeletStartedAtMs <= endedAtMs || facts.api.hasEnded(podUid)) return false;
  const { resources, shutdown } = facts;
  const hadEnded = facts.wasEnded(podUid) || shutdown.wasEverEnded(podUid);
  return facts.wasRemovalAsked(id) && (hadEnded || resources.diskWasShort);
}

/**
 * Reports whether the kubelet removed the record of a run because a later attempt of the container had a record, and the
 * later record was lost. The later attempt may have failed to start; then it has a record, but no run.
 */
function isLostWithLater(life: Life, facts: Facts): boolean {
  const removalAskedAtMs = facts.removalAskedAtMs(life.id);
  if (removalAskedAtMs === undefined || facts.records.wasTold(life)) return false;
  const runs = facts.lives.of(life.podUid, life.name);
  if (runs.slice(runs.indexOf(life) + 1).some((later) => facts.records.isLost(later))) return true;
  return facts.records.wasAnyRemovedAfter(life, removalAskedAtMs);
}

/**
 * Reports whether a run of an init container has no record, and the status cannot show in which sandbox it ran. Times
 * in a status have whole seconds, so the run may be attributed to the wrong one of two sandboxes.
 */
function isInitOfEitherSandbox(life: Life, facts: Facts): boolean {
  const { lives, records, pods } = facts;
  const { init = [] } = pods.planOf(life.podUid) ?? {};
  const [first] = init;
  if (first === undefined || !init.some(({ name }) => name === life.name) || !records.wasRemoved(life)) return false;
  if (isOfUnknownSandbox(life, facts)) return true;
  const isFirstSandbox = lives.of(life.podUid, first.name)[0]?.sandboxId === life.sandboxId;
  return !isFirstSandbox && life.startedAtMs - lives.sandboxAskedAtMs(life.podUid) < NEW_SANDBOX_MS;
}

/**
 * Reports whether the running kubelet cannot know in which sandbox a container ran. The record was removed before this
 * kubelet could read the record. The clock was set after the sandbox was requested, so that times show nothing (C3).
 */
function isOfUnknownSandbox(life: Life, facts: Facts): boolean {
  const { kubeletStartedAtMs, runtimeChangedAtMs, clockJumpedAtMs, records, lives } = facts;
  const readableAtMs = Math.max(kubeletStartedAtMs, runtimeChangedAtMs);
  const isUnseen = kubeletStartedAtMs > (life.endedAtMs ?? 0) && records.removedAtMs(life) < readableAtMs + READ_MS;
  return isUnseen && clockJumpedAtMs >= lives.sandboxAskedAtMs(life.podUid);
}

/**
 * Reports whether a rule can restart all containers of the pod, and some record of the pod was removed without the
 * kubelet's knowledge.
 */
function mayHaveBegunAnew({ podUid }: Life, { pods, lives, records }: Facts): boolean {
  const { init = [], containers = [] } = pods.planOf(podUid) ?? {};
  const plans = [...init, ...containers];
  const canRestartAll = plans.some((plan) => rulesOf(plan).some(({ action }) => action === 'RestartAllContainers'));
  return canRestartAll && plans.some(({ name }) => lives.of(podUid, name).some((life) => records.wasRemoved(life)));
}

function allowed(pod: PodPlan, last: Life, isInit: boolean, facts: Facts): boolean {
  const { id, plan, end, endedAtMs = 0 } = last;
  if (mayRestart(pod, plan, last)) return !isInit || hasFailed(pod, last.name, last);
  // A container that the kubelet stopped for a restart is restarted, unless its policy is Never. If a container exits
  // after the stop request, the kubelet cannot know whether it exited because of the request.
  const askedAtMs = facts.stopAskedAtMs(id) ?? Number.POSITIVE_INFINITY;
  // A failed `postStart` hook makes the kubelet stop a container in order to restart it. The container may exit during
  // its preStop hook, before that request.
  const stopped =
    end === 'terminated' ||
    end === 'killed' ||
    askedAtMs < endedAtMs ||
    facts.hooks.hadFailedBeforeEnd(last) ||
    mayHaveEndedInPreStop(last);
  return stopped && restartPolicyOf(pod, plan) !== 'Never';
}

/**
 * Reports whether a run may have ended during its `preStop` hook, which ran because the liveness probe had reached its
 * failure threshold. The kubelet requests the stop of the container only after the hook.
 */
function mayHaveEndedInPreStop({ plan, attempt, startedAtMs, endedAtMs = 0 }: Life): boolean {
  const { preStopSeconds, probes: { liveness } = {} } = plan;
  if (preStopSeconds === undefined || liveness === undefined) return false;
  const thresholdMs = (LIVENESS_FAILURE_THRESHOLD - 1) * liveness.periodSeconds * 1000;
  return endedAtMs - startedAtMs >= illAfterMs(plan, attempt) + thresholdMs;
}
