import { bareContainerId } from '@node-agent/pod-spec';
import type { Facts } from '../facts/facts.ts';
import { findPlan, longestHooksMs, type PodPlan } from '../scenario/plans.ts';
import type { Life } from '../world/ledger.ts';
import { type Invariant, invariant, judged } from './invariant.ts';
import { startsPromptly } from './node.ts';

/** Tolerance for comparing the end of a hook with a later observation: the duration of a runtime call, and rounding. */
const TOLERANCE_MS = 100;
/**
 * Maximum time on a healthy node from a container's start until its hook reaches the container, and from a hook's
 * failure until its container is stopped.
 */
const PROMPT_MS = 5000;

/**
 * Time after the last fault by which every hook must have reached its container. The time is longer than any retry
 * waits.
 */
const LATE_MS = 60_000;

/**
 * C5: a `postStart` hook runs once for each start of a container, and not if the container is already being stopped.
 */
export const hooksRunOnce: Invariant = invariant('C5', ['hookBegan'], () => {
  const seen = new Map<string, number>();
  return (observation, facts) => {
    const { life } = observation.hook;
    const subject = `the postStart hook of container ${life.name} of pod ${life.podUid}`;
    // A kubelet that was killed may have run the hook without recording that it completed.
    if (seen.get(life.id) === observation.kubelet) return { wrong: `${subject} ran a second time` };
    seen.set(life.id, observation.kubelet);
    const isToEnd = facts.isBeingEnded(life.podUid) || isKnownAsStopped(life, facts);
    return judged(isToEnd && `${subject} started although the container is being stopped`);
  };
});

/**
 * Reports whether a container got a stop request that the running kubelet can know of. A kubelet records which
 * containers it stops for a restart. A kubelet does not record which pods it terminates, because the sources of the
 * pods show that.
 */
function isKnownAsStopped({ id, podUid, startedAtMs }: Life, facts: Facts): boolean {
  const askedAtMs = facts.stopAskedAtMs(id);
  if (askedAtMs === undefined || askedAtMs >= facts.kubeletStartedAtMs) return askedAtMs !== undefined;
  const wasUnwanted = facts.pods.lastUnwantedAtMs(podUid) >= startedAtMs || facts.wasOrphaned(podUid);
  return !wasUnwanted && !facts.wasEnded(podUid) && !facts.shutdown.wasEverEnded(podUid);
}

/** C5, C4: containers start only after the `postStart` hooks of earlier containers have completed. */
export const hooksComeFirst: Invariant = invariant('C5', ['containerStarted'], () => (observation, facts) => {
  const { life } = observation;
  const pod = facts.pods.planOf(life.podUid);
  if (pod === undefined || findPlan(pod, life.name) === undefined) return undefined;
  const before = facts.lives.runningOf(life.podUid).filter((other) => comesBefore(pod, other, life));
  if (before.length === 0) return undefined;
  // The start may have been requested before the start of the other container, and may have completed late.
  const askedAtMs = facts.startAskedAtMs(life.id) ?? observation.atMs;
  const other = before.find(
    (one) =>
      facts.hooks.waitedForUntilMs(one) - TOLERANCE_MS > observation.atMs &&
      askedAtMs >= (facts.startAskedAtMs(one.id) ?? one.startedAtMs),
  );
  return judged(
    other &&
      `container ${life.name} of pod ${life.podUid} started while the postStart hook of the earlier container ${other.name} is running`,
  );
});

/**
 * S7: a container is not reported as running while its `postStart` hook runs. Exception: a hook that runs again after it
 * succeeded in an earlier kubelet (S6).
 */
export const hooksHideTheirs: Invariant = invariant('S7', ['apiRequest'], () => (observation, facts) => {
  const { shown } = observation;
  if (shown === undefined || shown.containers === '') return undefined;
  let isSeen = false;
  for (const text of shown.containers.split('; ')) {
    const life = facts.lives.byId(bareContainerId(text.split(' ')[1] ?? ''));
    if (life === undefined || facts.hooks.of(life) === undefined || facts.hooks.hadSucceeded(life)) continue;
    isSeen = true;
    const isRunning = text.endsWith('running') && facts.hooks.waitedForUntilMs(life) - TOLERANCE_MS > observation.atMs;
    if (isRunning)
      return {
        wrong: `container ${life.name} of pod ${life.podUid} is reported as running while its postStart hook is running`,
      };
  }
  return isSeen ? 'ok' : undefined;
});

/** Reports whether a container has a hook and precedes another container in its pod. */
function comesBefore({ init, containers }: PodPlan, { name, plan, sandboxId }: Life, life: Life): boolean {
  const order = [...init, ...containers].map((one) => one.name);
  const isBefore = order.indexOf(name) >= 0 && order.indexOf(name) < order.indexOf(life.name);
  return plan.postStart !== undefined && isBefore && sandboxId === life.sandboxId;
}

/**
 * C5: a container whose `postStart` hook has failed is stopped, and on a healthy node every hook reaches its container.
 */
export const hooksEndTheirs: Invariant = invariant('C5', ['health'], () => (observation, facts) => {
  if (!facts.kubeletUp || !facts.runtimeUp) return undefined;
  let isSeen = false;
  for (const life of facts.lives.running) {
    const isToEnd = facts.stopAskedAtMs(life.id) !== undefined || Number.isFinite(facts.endAskedAtMs(life));
    if (life.plan.postStart === undefined || isToEnd) continue;
    isSeen = true;
    const subject = `container ${life.name} of pod ${life.podUid}`;
    const failedMs = observation.atMs - (facts.hooks.of(life)?.untilMs ?? observation.atMs);
    // The preStop hook of the container runs before the container is stopped.
    const latestMs = (life.plan.preStopSeconds ?? 0) * 1000 + PROMPT_MS;
    if (facts.hooks.hasFailed(life) && failedMs > latestMs && isTold(life, facts)) {
      return { wrong: `${subject} is running ${failedMs} ms after its postStart hook failed` };
    }
    if (isUnreached(life, facts)) return { wrong: `the postStart hook of ${subject} was not started` };
  }
  return isSeen ? 'ok' : undefined;
});

/** Reports whether no fault can have prevented the request to the runtime to stop the container. */
function isTold(life: Life, { runtimeChangedAtMs, nowMs, ownFaultsOverAtMs }: Facts): boolean {
  return runtimeChangedAtMs < life.startedAtMs && ownFaultsOverAtMs < nowMs - PROMPT_MS;
}

/**
 * Reports whether a hook should have reached its container and has not. On a healthy node the hook must reach its
 * container promptly, and otherwise after all faults have ended, even if the kubelet was killed or a response was lost.
 */
function isUnreached(life: Life, facts: Facts): boolean {
  const { by } = life.plan.postStart ?? {};
  if (by === 'sleep' || facts.hooks.of(life) !== undefined) return false;
  const isHealthy = facts.firstFaultAtMs > facts.nowMs && life.startedAtMs >= facts.kubeletStartedAtMs;
  if (isHealthy) return facts.nowMs - life.startedAtMs > PROMPT_MS;
  const { ownFaultsOverAtMs, kubeletStartedAtMs, runtimeChangedAtMs, faultsEnded } = facts;
  const calmSinceMs = Math.max(ownFaultsOverAtMs, kubeletStartedAtMs, runtimeChangedAtMs, life.startedAtMs);
  const isWanted = facts.pods.wanted.has(life.podUid) && !facts.wasEnded(life.podUid);
  const pod = facts.pods.planOf(life.podUid);
  const patienceMs = LATE_MS + (pod === undefined ? 0 : longestHooksMs(pod));
  return faultsEnded && isWanted && facts.nowMs - calmSinceMs > patienceMs;
}

/** W6: a hanging hook delays only its own pod. */
export const hooksHangAlone: Invariant = invariant('W6', ['health'], () =>
  startsPromptly(
    (facts) => facts.lives.running.some((life) => facts.hooks.waitedForUntilMs(life) > facts.nowMs),
    ({ containers, foreign }) => foreign === true || containers.some(({ slowImage }) => slowImage === true),
  ),
);
