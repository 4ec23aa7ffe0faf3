import type { Facts } from '../facts/facts.ts';
import {
  type ContainerPlan,
  findPlan,
  hasFailed,
  isSidecar,
  mayRestart,
  type PodPlan,
  restartPolicyOf,
  rulesOf,
} from '../scenario/plans.ts';
import type { Life } from '../world/ledger.ts';
import { type Invariant, invariant, judged } from './invariant.ts';

/** What virtual time may be off by. */
const TOLERANCE_MS = 50;
/** Every container gets so long to stop. */
const LEAST_GRACE_MS = 2000;
/** A run of this length ends a row of crashes. */
const LONG_RUN_MS = 600_000;
/** What starts so soon after its sandbox was asked for may start in the second in which that sandbox began. */
const NEW_SANDBOX_MS = 1500;

/** C1: never two live containers of the same name in one pod. */
export const oneOfAName: Invariant = invariant('C1', ['containerStarted'], () => (observation, facts) => {
  if (observation.kind !== 'containerStarted') return undefined;
  const { life } = observation;
  const twin = facts.lives.runningOf(life.podUid).find((other) => other !== life && other.name === life.name);
  return judged(
    twin &&
      `container ${life.name} of pod ${life.podUid} starts as attempt ${life.attempt} while attempt ${twin.attempt} runs`,
  );
});

/** C2: a container that crashes again and again is restarted no sooner than its back-off allows. */
export const backOff: Invariant = invariant('C2', ['containerStarted'], () => (observation, facts) => {
  if (observation.kind !== 'containerStarted') return undefined;
  const { life } = observation;
  const crashes = crashesInARow(life, facts);
  const last = crashes.at(-1);
  // How long runs and pauses were is told by the wall clock alone.
  if (last?.endedAtMs === undefined || facts.clockJumpedAtMs >= (crashes[0]?.startedAtMs ?? 0)) return undefined;
  const { initialMs, maxMs } = facts.node.backOff;
  const row = crashes.length;
  const least = row < 2 ? 0 : Math.min(initialMs * 2 ** (row - 2), maxMs);
  const waitedMs = life.startedAtMs - last.endedAtMs;
  return judged(
    waitedMs < least - TOLERANCE_MS &&
      `container ${life.name} of pod ${life.podUid} starts ${waitedMs} ms after crash ${crashes.length} in a row, which is to be followed by ${least} ms of back-off`,
  );
});

/** The crashes right before a start, which no change of its spec and no absence of its pod stands between. */
function crashesInARow(life: Life, facts: Facts): readonly Life[] {
  const crashes: Life[] = [];
  // In a new sandbox init containers begin anew, and their records go.
  const isInit = facts.pods.planOf(life.podUid)?.init.some(({ name }) => name === life.name) ?? false;
  for (const earlier of facts.lives.of(life.podUid, life.name).toReversed()) {
    // What was asked to be removed before it started was not looked at again: nobody saw how it ended.
    if (earlier === life || facts.wasRemovedUnstarted(earlier)) continue;
    // What ends while it is being stopped, or with its sandbox, has not crashed.
    const lost = facts.lives.sandboxLostAtMs(earlier.sandboxId) !== undefined;
    // Nor has, for whoever was not told of its end, what was told to stop since its liveness probe failed.
    const ill = earlier.plan.probes?.liveness !== undefined && facts.stopAskedAtMs(earlier.id) !== undefined;
    const stopped = earlier.termAtMs !== undefined || lost || ill;
    const byItself = !stopped && (earlier.end === 'exited' || earlier.end === 'lost');
    const crashed = byItself || (!lost && (facts.wasIll(earlier) || (!ill && isEndedByHook(earlier, facts))));
    const long = (earlier.endedAtMs ?? 0) - earlier.startedAtMs > LONG_RUN_MS;
    const anew = isInit && earlier.sandboxId !== life.sandboxId;
    const same = !anew && JSON.stringify(earlier.plan) === JSON.stringify(life.plan);
    if (!crashed || long || !same || facts.pods.lastUnwantedAtMs(life.podUid) >= earlier.startedAtMs) break;
    // One that ended for good runs again only where its pod begins anew: its records were taken away, and the kubelet's memory with it.
    if (isDoneFor(facts, earlier) || isForgotten(earlier, facts)) break;
    // Other resources make the row begin anew, when they are asked for and when they are granted.
    if (facts.resources.changedAtMs(life.podUid) >= earlier.startedAtMs) break;
    // Where all containers began anew, so does the row: their records are gone.
    if (facts.restartAll.isOver(earlier)) break;
    // A kubelet that could not know the pod has ended all of it (other rules say whether it might): what has its UID since is another.
    if (facts.orphanEndedAtMs(life.podUid) >= earlier.startedAtMs) break;
    crashes.unshift(earlier);
  }
  return crashes;
}

/** Whether a container was told to stop when its `postStart` hook had failed, and for nothing else that is known: that counts as a crash. */
function isEndedByHook(life: Life, facts: Facts): boolean {
  const hook = facts.hooks.of(life);
  const toldAtMs = facts.stopAskedAtMs(life.id) ?? Number.POSITIVE_INFINITY;
  return hook?.fails === true && toldAtMs >= hook.untilMs && life.endedAtMs !== undefined && life.endedAtMs >= toldAtMs;
}

/** Whether a run ended so that its container is not to run again. */
function isDoneFor(facts: Facts, life: Life): boolean {
  const pod = facts.pods.planOf(life.podUid);
  return pod !== undefined && !facts.mayRunAgain(pod, life);
}

/** C3: init containers run one at a time and in order, before the main ones, and once per sandbox, or since all containers began anew. */
export const initOrder: Invariant = invariant('C3', ['containerStarted'], () => (observation, facts) => {
  if (observation.kind !== 'containerStarted') return undefined;
  const { life } = observation;
  const pod = facts.pods.planOf(life.podUid);
  // Ephemeral containers wait for nobody.
  if (pod === undefined || isSidecar(pod, life.name) || findPlan(pod, life.name) === undefined) return undefined;
  const index = pod.init.findIndex(({ name }) => name === life.name);
  const before = index < 0 ? pod.init : pod.init.slice(0, index);
  const here = (name: string): readonly Life[] => livesHere(life, name, facts);
  const who = `container ${life.name} of pod ${life.podUid}`;
  for (const { name } of before) {
    if (isSidecar(pod, name)) continue;
    const passed = here(name).some((earlier) => earlier.end !== undefined && !hasFailed(pod, name, earlier));
    if (!passed) return { wrong: `${who} starts before init container ${name} has done its work` };
  }
  if (index < 0) return 'ok';
  const isKnown = (earlier: Life): boolean => !isForgotten(earlier, facts);
  const started = pod.containers.find(({ name }) => here(name).some(isKnown));
  if (started !== undefined) return { wrong: `init ${who} starts after main container ${started.name} has` };
  // A start that outlived its kubelet, and came after the next one had asked for what never ran to be removed: nobody has seen it.
  const again = here(life.name).some(
    (earlier) =>
      earlier !== life &&
      earlier.end !== undefined &&
      !hasFailed(pod, life.name, earlier) &&
      isKnown(earlier) &&
      !facts.wasRemovedUnstarted(earlier),
  );
  return judged(again && `init ${who} starts again in its sandbox, though it has done its work there`);
});

/** The runs of a container of this name in the sandbox of a run of another one, since all containers of the pod last began anew. */
function livesHere({ podUid, sandboxId }: Life, name: string, facts: Facts): readonly Life[] {
  const sinceMs = facts.restartAll.doneAtMs(podUid);
  return facts.lives.of(podUid, name).filter((life) => life.sandboxId === sandboxId && life.startedAtMs >= sinceMs);
}

/** C4: a sidecar holds back what comes after it until it has started, and ends after the main containers. */
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
      return judged(
        missing && `container ${life.name} of pod ${life.podUid} starts before sidecar ${missing.name} has started`,
      );
    }
    if (observation.kind !== 'containerSignalled') return undefined;
    return sidecarSignalled(observation.life, facts);
  },
);

/** A sidecar may be told to stop when all that needs it has ended, or has had its time. */
function sidecarSignalled(life: Life, facts: Facts): ReturnType<typeof judged> | undefined {
  const pod = facts.pods.planOf(life.podUid);
  // A pod that only the runtime knows has no order; neither has one whose sandbox is gone.
  const lost = facts.lives.sandboxLostAtMs(life.sandboxId) !== undefined;
  if (pod === undefined || !isSidecar(pod, life.name) || facts.wasOrphaned(life.podUid) || lost) return undefined;
  // One whose hook has failed goes alone, and comes again. Where all begin anew, nobody waits for others.
  if (facts.hooks.mayHaveFailed(life) || facts.restartAll.mayEnd(life)) return undefined;
  const index = pod.init.findIndex(({ name }) => name === life.name);
  const sidecars = pod.init.slice(index + 1).filter(({ name }) => isSidecar(pod, name));
  const later = new Set([...sidecars, ...pod.containers].map(({ name }) => name));
  // When the grace period is over, counted from the first that was to be told to stop, or from when it was looked for who is, what is left
  // ends together.
  const asked = facts.lives.inSandbox(life.podUid, life.sandboxId).flatMap(({ id }) => facts.stopAskedAtMs(id) ?? []);
  const sinceMs = facts.nowMs - Math.min(...asked, facts.endAskedAtMs(life));
  // The first call comes after its container's hook.
  const graceMs = leastGraceSeconds(facts, life.podUid) * 1000 - Math.max(...pod.containers.map(hookMs));
  const inGrace = !isHurried(facts, life) && sinceMs < graceMs - TOLERANCE_MS;
  // A call that takes long is of before whatever has started since, be it by another kubelet.
  const askedAtMs = facts.stopAskedAtMs(life.id) ?? facts.nowMs;
  const needy = facts.lives
    .runningOf(life.podUid)
    .filter(({ sandboxId, startedAtMs }) => sandboxId === life.sandboxId && startedAtMs <= askedAtMs)
    .find((other) => inGrace && later.has(other.name) && !facts.wasStarting(other));
  return judged(
    needy && `sidecar ${life.name} of pod ${life.podUid} is told to stop while container ${needy.name} still runs`,
  );
}

/** C5: a container that is stopped gets SIGTERM, and SIGKILL no sooner than its grace period is over. */
export const gracefulStop: Invariant = invariant('C5', ['containerEnded'], () => (observation, facts) => {
  if (observation.kind !== 'containerEnded' || observation.life.end !== 'killed') return undefined;
  const { life } = observation;
  // A start that comes late, when the end is under way already, is cut short.
  if (facts.endAskedAtMs(life) <= life.startedAtMs) return undefined;
  const who = `container ${life.name} of pod ${life.podUid}`;
  // One that the runtime refuses to stop is killed when it has had its time.
  const toldAtMs = life.termAtMs ?? (facts.mayRefuseStops ? facts.stopAskedAtMs(life.id) : undefined);
  if (toldAtMs === undefined) return { wrong: `${who} is killed without SIGTERM` };
  const pod = facts.pods.planOf(life.podUid);
  const short =
    pod === undefined ||
    isSidecar(pod, life.name) ||
    facts.wasOrphaned(life.podUid) ||
    isHurried(facts, life) ||
    facts.restartAll.mayEnd(life);
  const ownMs = leastGraceSeconds(facts, life.podUid) * 1000 - spentOnHookMs(life, facts);
  const graceMs = short ? LEAST_GRACE_MS : Math.max(LEAST_GRACE_MS, ownMs);
  // A runtime that is slow to send the signal has no part in how long the kubelet waits.
  const hadMs = facts.nowMs - Math.min(toldAtMs, facts.stopAskedAtMs(life.id) ?? toldAtMs);
  return judged(
    hadMs < graceMs - TOLERANCE_MS && `${who} is killed ${hadMs} ms after it was told to stop, not ${graceMs}`,
  );
});

/** Whether its pod is ended by the node, which leaves it a second, unless it goes for a soft threshold. */
function isHurried(facts: Facts, { podUid }: Life): boolean {
  return facts.resources.wasEnded(podUid) && facts.resources.softlyEvictedAtMs(podUid) < 0;
}

/**
 * By any of its versions, or as a user says who deletes it; where it was ended for a shutdown, no more than its group has, and where it was
 * evicted for a soft threshold, no more than the node leaves it.
 */
function leastGraceSeconds(facts: Facts, uid: string): number {
  const byNode = Math.min(facts.shutdownGraceSeconds(uid), facts.evictionGraceSeconds(uid));
  const most = Math.min(byNode, facts.deletions.graceSeconds(uid), leftOfDeletionSeconds(facts, uid));
  return Math.min(most, ...facts.pods.plansOf(uid).map(({ graceSeconds }) => graceSeconds));
}

/**
 * How much of its grace period may be gone before a container is told to stop that has a hook: the hook may be begun by one kill, and the
 * container told by the next.
 */
/**
 * Returns what is left at least of the grace period of a deletion for a kubelet that has known the pod as deleted only; infinite for others.
 * The API has whole seconds.
 */
function leftOfDeletionSeconds(facts: Facts, uid: string): number {
  const { deletions, clockJumpedAtMs } = facts;
  const firstAskedAtMs = deletions.firstAskedAtMs(uid);
  if (firstAskedAtMs > facts.nowMs || facts.syncBeganAtMs(uid) <= facts.nowMs) return Number.POSITIVE_INFINITY;
  if (clockJumpedAtMs >= firstAskedAtMs) return 1;
  return Math.max(1, (deletions.dueAtMs(uid) - facts.endBeganAtMs(uid)) / 1000 - 1);
}

function spentOnHookMs(life: Life, facts: Facts): number {
  if (life.plan.preStopSeconds === undefined) return 0;
  // Nobody sees when that began.
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

/** C6: restart rules and policies decide whether what has ended runs again. */
export const restartPolicies: Invariant = invariant('C6', ['containerStarted'], () => (observation, facts) => {
  if (observation.kind !== 'containerStarted') return undefined;
  const { life } = observation;
  const pod = facts.pods.planOf(life.podUid);
  const last = facts.lives.of(life.podUid, life.name).at(-2);
  if (pod === undefined || last?.exitCode === undefined) return undefined;
  if (facts.pods.lastUnwantedAtMs(life.podUid) >= facts.decidedAtMs(last)) return undefined;
  if (JSON.stringify(last.plan) !== JSON.stringify(life.plan)) return undefined;
  // What ends while it is cleared away with its lost sandbox was seen running there, and goes on in the next one.
  if ((facts.lives.sandboxLostAtMs(last.sandboxId) ?? Number.POSITIVE_INFINITY) <= (last.endedAtMs ?? 0))
    return undefined;
  if (isForgotten(last, facts) || facts.wasRemovedUnstarted(last)) return undefined;
  if (facts.restartAll.isOver(last)) return 'ok';
  const isInit = pod.init.some(({ name }) => name === life.name);
  if (isInit && (last.sandboxId !== life.sandboxId || isSidecar(pod, life.name))) return undefined;
  return judged(
    !allowed(pod, last, isInit, facts) &&
      `container ${life.name} of pod ${life.podUid} runs again after ${last.end} ${last.exitCode}, against its policy`,
  );
});

/**
 * Whether nobody remembers how a container ended: its pod was evicted, or ended or refused for a shutdown, or dead containers were removed
 * for a lack of disk, and the kubelet was killed before the API had word of that. What of a static pod has ended is on record nowhere else.
 */
function isForgotten(life: Life, facts: Facts): boolean {
  const { id, podUid, endedAtMs = 0 } = life;
  // A record that somebody else removed before the kubelet that runs had told of it; where all containers can begin anew, one that is gone
  // says that they do.
  if (facts.records.isLost(life) || isLostWithLater(life, facts) || mayHaveBegunAnew(life, facts)) return true;
  if (isInitOfEitherSandbox(life, facts)) return true;
  if (facts.kubeletStartedAtMs <= endedAtMs || facts.api.hasEnded(podUid)) return false;
  const { resources, shutdown } = facts;
  const hadEnded = facts.wasEnded(podUid) || shutdown.wasEverEnded(podUid);
  return facts.wasRemovalAsked(id) && (hadEnded || resources.diskWasShort);
}

/** Whether the kubelet removed the record of a run because a later run had one, and the record of that later run is lost. */
function isLostWithLater(life: Life, facts: Facts): boolean {
  if (!facts.wasRemovalAsked(life.id) || facts.records.wasTold(life)) return false;
  const runs = facts.lives.of(life.podUid, life.name);
  return runs.slice(runs.indexOf(life) + 1).some((later) => facts.records.isLost(later));
}

/**
 * Whether a run of an init container has no record, and its status cannot tell in which sandbox it ran: statuses have whole seconds, and the
 * sandbox is not the first of its pod.
 */
function isInitOfEitherSandbox(life: Life, { lives, records, pods }: Facts): boolean {
  const { init = [] } = pods.planOf(life.podUid) ?? {};
  const [first] = init;
  if (first === undefined || !init.some(({ name }) => name === life.name) || !records.wasRemoved(life)) return false;
  const isFirstSandbox = lives.of(life.podUid, first.name)[0]?.sandboxId === life.sandboxId;
  return !isFirstSandbox && life.startedAtMs - lives.sandboxAskedAtMs(life.podUid) < NEW_SANDBOX_MS;
}

/** Whether all containers of its pod can begin anew, and some record of the pod was removed by somebody else. */
function mayHaveBegunAnew({ podUid }: Life, { pods, lives, records }: Facts): boolean {
  const { init = [], containers = [] } = pods.planOf(podUid) ?? {};
  const plans = [...init, ...containers];
  const canRestartAll = plans.some((plan) => rulesOf(plan).some(({ action }) => action === 'RestartAllContainers'));
  return canRestartAll && plans.some(({ name }) => lives.of(podUid, name).some((life) => records.wasRemoved(life)));
}

function allowed(pod: PodPlan, last: Life, isInit: boolean, facts: Facts): boolean {
  const { id, plan, end, endedAtMs = 0 } = last;
  if (mayRestart(pod, plan, last)) return !isInit || hasFailed(pod, last.name, last);
  // A container that the kubelet stopped to start it again starts again unless its policy is Never. The kubelet cannot know whether a
  // container that ends after the stop request ended because of it.
  const askedAtMs = facts.stopAskedAtMs(id) ?? Number.POSITIVE_INFINITY;
  const stopped = end === 'terminated' || end === 'killed' || askedAtMs < endedAtMs;
  return stopped && restartPolicyOf(pod, plan) !== 'Never';
}
