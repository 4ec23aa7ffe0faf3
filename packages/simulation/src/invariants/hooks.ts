import { bareContainerId } from '@node-agent/pod-spec';
import type { Facts } from '../facts/facts.ts';
import { findPlan, longestHooksMs, type PodPlan } from '../scenario/plans.ts';
import type { Life } from '../world/ledger.ts';
import { type Invariant, invariant, judged } from './invariant.ts';
import { startsPromptly } from './node.ts';

/** What an instant and a call of the runtime take. */
const TOLERANCE_MS = 100;
/** So soon after its start a hook reaches its container on a healthy node, and so soon after its failure that is told to stop. */
const PROMPT_MS = 5000;

/** So long after the last fault every hook has reached its container: longer than retries wait. */
const LATE_MS = 60_000;

/** C5: a `postStart` hook runs once for each start of a container, and not when that is to end already. */
export const hooksRunOnce: Invariant = invariant('C5', ['hookBegan'], () => {
  const seen = new Map<string, number>();
  return (observation, facts) => {
    const { life } = observation.hook;
    const who = `the postStart hook of container ${life.name} of pod ${life.podUid}`;
    // A kubelet that was killed may have done so before it had noted that the hook was through.
    if (seen.get(life.id) === observation.kubelet) return { wrong: `${who} runs once more` };
    seen.set(life.id, observation.kubelet);
    const isToEnd = facts.isBeingEnded(life.podUid) || isKnownAsStopped(life, facts);
    return judged(isToEnd && `${who} begins, and that is to end already`);
  };
});

/**
 * Whether a container was told to stop, and the kubelet that runs can know it. A kubelet notes which containers it stops to start them again,
 * but not which pods it ends: their sources do.
 */
function isKnownAsStopped({ id, podUid, startedAtMs }: Life, facts: Facts): boolean {
  const askedAtMs = facts.stopAskedAtMs(id);
  if (askedAtMs === undefined || askedAtMs >= facts.kubeletStartedAtMs) return askedAtMs !== undefined;
  const wasUnwanted = facts.pods.lastUnwantedAtMs(podUid) >= startedAtMs || facts.wasOrphaned(podUid);
  return !wasUnwanted && !facts.wasEnded(podUid) && !facts.shutdown.wasEverEnded(podUid);
}

/** C5, C4: what a hook prepares is there for the containers that come after its own: they start when it is through. */
export const hooksComeFirst: Invariant = invariant('C5', ['containerStarted'], () => (observation, facts) => {
  const { life } = observation;
  const pod = facts.pods.planOf(life.podUid);
  if (pod === undefined || findPlan(pod, life.name) === undefined) return undefined;
  const before = facts.lives.runningOf(life.podUid).filter((other) => comesBefore(pod, other, life));
  if (before.length === 0) return undefined;
  // A start may have been asked for before that of the other one, and come late.
  const askedAtMs = facts.startAskedAtMs(life.id) ?? observation.atMs;
  const other = before.find(
    (one) =>
      facts.hooks.waitedForUntilMs(one) - TOLERANCE_MS > observation.atMs &&
      askedAtMs >= (facts.startAskedAtMs(one.id) ?? one.startedAtMs),
  );
  return judged(
    other &&
      `container ${life.name} of pod ${life.podUid} starts while the postStart hook of ${other.name} runs, which comes before it`,
  );
});

/** S7: a container is not shown as running while its `postStart` hook runs. */
export const hooksHideTheirs: Invariant = invariant('S7', ['apiRequest'], () => (observation, facts) => {
  const { shown } = observation;
  if (shown === undefined || shown.containers === '') return undefined;
  let isSeen = false;
  for (const text of shown.containers.split('; ')) {
    const life = facts.lives.byId(bareContainerId(text.split(' ')[1] ?? ''));
    if (life === undefined || facts.hooks.of(life) === undefined) continue;
    isSeen = true;
    const isRunning = text.endsWith('running') && facts.hooks.waitedForUntilMs(life) - TOLERANCE_MS > observation.atMs;
    if (isRunning)
      return { wrong: `container ${life.name} of pod ${life.podUid} is shown as running, and its postStart hook runs` };
  }
  return isSeen ? 'ok' : undefined;
});

/** Whether a container has a hook, and is one that another one waits for. */
function comesBefore({ init, containers }: PodPlan, { name, plan, sandboxId }: Life, life: Life): boolean {
  const order = [...init, ...containers].map((one) => one.name);
  const isBefore = order.indexOf(name) >= 0 && order.indexOf(name) < order.indexOf(life.name);
  return plan.postStart !== undefined && isBefore && sandboxId === life.sandboxId;
}

/** C5: a container whose `postStart` hook fails is told to stop, and on a healthy node every hook reaches its container. */
export const hooksEndTheirs: Invariant = invariant('C5', ['health'], () => (observation, facts) => {
  if (!facts.kubeletUp || !facts.runtimeUp) return undefined;
  let isSeen = false;
  for (const life of facts.lives.running) {
    const isToEnd = facts.stopAskedAtMs(life.id) !== undefined || Number.isFinite(facts.endAskedAtMs(life));
    if (life.plan.postStart === undefined || isToEnd) continue;
    isSeen = true;
    const who = `container ${life.name} of pod ${life.podUid}`;
    const failedMs = observation.atMs - (facts.hooks.of(life)?.untilMs ?? observation.atMs);
    // Its own preStop hook comes first.
    const latestMs = (life.plan.preStopSeconds ?? 0) * 1000 + PROMPT_MS;
    if (facts.hooks.hasFailed(life) && failedMs > latestMs && isTold(life, facts)) {
      return { wrong: `${who} runs ${failedMs} ms after its postStart hook has failed` };
    }
    if (isUnreached(life, facts)) return { wrong: `the postStart hook of ${who} has not begun` };
  }
  return isSeen ? 'ok' : undefined;
});

/** Whether nothing can have kept the runtime from being told. */
function isTold(life: Life, { runtimeChangedAtMs, nowMs, ownFaultsOverAtMs }: Facts): boolean {
  return runtimeChangedAtMs < life.startedAtMs && ownFaultsOverAtMs < nowMs - PROMPT_MS;
}

/**
 * Whether a hook has not reached its container and should have: promptly on a healthy node, and once faults are over wherever the kubelet was
 * killed, and whatever answer was lost.
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

/** W6: a hook that hangs holds up its own pod alone. */
export const hooksHangAlone: Invariant = invariant('W6', ['health'], () =>
  startsPromptly(
    (facts) => facts.lives.running.some((life) => facts.hooks.waitedForUntilMs(life) > facts.nowMs),
    ({ containers, foreign }) => foreign === true || containers.some(({ slowImage }) => slowImage === true),
  ),
);
