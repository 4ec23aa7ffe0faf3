import type { Facts } from '../facts/facts.ts';
import {
  type ContainerPlan,
  hasFailed,
  illAfterMs,
  isSidecar,
  mayRestart,
  type PodPlan,
  restartPolicyOf,
} from '../scenario/plans.ts';
import type { Life } from '../world/ledger.ts';
import { POD_LOGS_DIRECTORY, ROOT_DIRECTORY } from '../world/world.ts';
import { calledFor, stoppedBy } from './called-for.ts';
import { type Invariant, type InvariantId, invariant, judged } from './invariant.ts';

/**
 * F1: nothing is stopped that no source has spoken of, before all sources have spoken, but what has lost its place to another pod of a
 * manifest (F4).
 */
export const sourcesFirst: Invariant = invariant('F1', ['call'], () => (observation, facts) => {
  if (observation.kind !== 'call' || facts.sourcesReady) return undefined;
  const lives = stoppedBy(observation.call, facts);
  if (lives.length === 0) return undefined;
  const life = lives.find(({ podUid }) => !facts.isKnownToKubelet(podUid) && !hasLostItsPlace(podUid, facts));
  return judged(
    life && `${observation.call.name} of container ${life.name} of pod ${life.podUid} before all sources have reported`,
  );
});

/** Whether another pod of its name was wanted by a manifest at any time since the kubelet started. */
function hasLostItsPlace(uid: string, { pods, kubeletStartedAtMs }: Facts): boolean {
  if (pods.isApiPod(uid)) return false;
  const name = pods.planOf(uid)?.name;
  return pods.knownUids.some((other) => {
    if (other === uid || pods.isApiPod(other) || pods.planOf(other)?.name !== name) return false;
    // One whose manifest was broken when the kubelet started, and that the one before it may have seen whole, it may remember; one that
    // the URL had then, too, until that answers.
    return pods.wanted.has(other) || pods.unwantedSinceMs(other) >= kubeletStartedAtMs || pods.isUnsure(other);
  });
}

/**
 * P5: what is left of a pod is removed as unknown only once all sources have spoken. Empty sandboxes that a later one of
 * the same pod has replaced may go at any time: no pod needs them, whether it is wanted or not (`evictSandboxes`).
 */
export const unknownIsKnownLate: Invariant = invariant('P5', ['call'], () => (observation, facts) => {
  if (observation.kind !== 'call') return undefined;
  const { port, name, args } = observation.call;
  if (port === 'fs' && (name === 'removeAll' || name === 'remove' || name === 'rename')) {
    const uid = podOfDirectory(String(args[0]));
    if (uid === undefined || facts.isKnownToKubelet(uid)) return undefined;
    return judged(!facts.sourcesReady && `${name} of ${String(args[0])} before all sources have reported`);
  }
  if (name !== 'removePodSandbox') return undefined;
  const uid = calledFor(observation.call, facts);
  if (uid === undefined || facts.isKnownToKubelet(uid)) return undefined;
  const { podSandboxId = '' } = (args[0] ?? {}) as { readonly podSandboxId?: string };
  const early = !facts.sourcesReady && !facts.lives.isSuperseded(podSandboxId);
  return judged(early && `${name} of pod ${uid} before all sources have reported`);
});

/** Whose directory a path is, or is a main part of: dead containers' own files may go at any time. */
function podOfDirectory(path: string): string | undefined {
  // What the kubelet before has begun to delete, the next one may go on with.
  if (path.includes('/deleting~')) return undefined;
  const [uid, ...below] = path.startsWith(`${ROOT_DIRECTORY}/pods/`) ? path.split('/').slice(5) : [];
  if (uid !== undefined) return below.length === 0 || below[0] === 'volumes' ? uid : undefined;
  const [logs, ...more] = path.startsWith(`${POD_LOGS_DIRECTORY}/`) ? path.split('/').slice(4) : [];
  return more.length === 0 ? logs?.split('_')[2] : undefined;
}

/** Why a healthy container would be stopped without a cause: which invariant that breaks. */
function attribution(life: Life, facts: Facts): InvariantId {
  if (facts.pods.isBroken(life.podUid)) return 'F2';
  if (facts.kubeletStartedAtMs > life.startedAtMs) return 'K1';
  if (facts.pods.isApiPod(life.podUid) && facts.api.awaySinceMs > life.startedAtMs && facts.api.away) return 'K3';
  return facts.runtimeChangedAtMs > life.startedAtMs ? 'K2' : 'C6';
}

function withoutCause(id: InvariantId): Invariant {
  return invariant(id, ['call'], () => (observation, facts) => {
    if (observation.kind !== 'call') return undefined;
    const stopped = stoppedBy(observation.call, facts);
    // Most calls stop nothing, and each of these rules sees them all.
    if (stopped.length === 0) return undefined;
    const lives = stopped.filter((life) => attribution(life, facts) === id);
    if (lives.length === 0) return undefined;
    const life = lives.find((stopped) => !hasCause(stopped, facts));
    return judged(
      life && `${observation.call.name} of container ${life.name} of pod ${life.podUid}, which is healthy and wanted`,
    );
  });
}

/** F2: a manifest that is broken keeps its last good pods running. */
export const lastGood: Invariant = withoutCause('F2');
/** K1: what ran before the kubelet was killed goes on after its restart. */
export const survivesKubelet: Invariant = withoutCause('K1');
/** K2: what ran before the runtime was restarted goes on after it. */
export const survivesRuntime: Invariant = withoutCause('K2');
/** K3: the API server's absence stops nothing. */
export const survivesApiServer: Invariant = withoutCause('K3');
/** C6: nothing is stopped without a cause. */
export const noNeedlessStop: Invariant = withoutCause('C6');

/** Whether there was any reason to stop a container. */
function hasCause(life: Life, facts: Facts): boolean {
  const { podUid, startedAtMs, sandboxId } = life;
  const pod = facts.pods.wanted.get(podUid);
  // A UID that was taken away since its sync began, and came again, has to end before it begins anew (P3).
  const sinceMs = Math.min(startedAtMs, facts.syncBeganAtMs(podUid));
  if (pod === undefined || facts.pods.lastUnwantedAtMs(podUid) >= sinceMs || facts.pods.isUnsure(podUid)) return true;
  if (facts.lives.sandboxLostAtMs(sandboxId) !== undefined || facts.wasEnded(podUid)) return true;
  // What starts late, too.
  if (facts.isOrphanBeingEnded(podUid)) return true;
  if (facts.lives.mayHaveTwoSandboxes(podUid, startedAtMs, facts.nowMs)) return true;
  // What was asked for by a kubelet that is gone may be done late, and leaves what begins meanwhile in a sandbox that has stopped.
  if (facts.sandboxStopAskedAtMs(sandboxId) < facts.nowMs) return true;
  if (facts.nowMs - startedAtMs >= illAfterMs(life.plan, life.attempt)) return true;
  if (facts.hooks.mayHaveFailed(life) || facts.restartAll.mayEnd(life)) return true;
  if (facts.lives.runningOf(podUid).some((other) => other !== life && other.name === life.name)) return true;
  const current = [...pod.init, ...pod.containers].find(({ name }) => name === life.name);
  if (JSON.stringify(current) !== JSON.stringify(life.plan)) return true;
  return isOver(pod, facts);
}

/** What the runtime says of a container that it could not start. */
const START_ERROR_EXIT_CODE = 128;

/** Whether a container was made since it last ran, could not be started because of a fault, and is not to be started again. */
export function hasFailedToStart(pod: PodPlan, plan: ContainerPlan, facts: Facts): boolean {
  const last = facts.lives.of(pod.uid, plan.name).at(-1);
  const sinceMs = last === undefined ? 0 : (last.endedAtMs ?? Number.POSITIVE_INFINITY);
  const failed = facts.createAskedAtMs(pod.uid, plan.name) >= sinceMs && facts.firstFaultAtMs <= facts.nowMs;
  return failed && !mayRestart(pod, plan, { exitCode: START_ERROR_EXIT_CODE });
}

/** Whether a pod has done its work, or failed. */
export function isOver(pod: PodPlan, facts: Facts): boolean {
  const done = (plan: ContainerPlan): boolean => {
    const last = facts.lives.of(pod.uid, plan.name).at(-1);
    // A start that failed by a fault is an exit.
    if (hasFailedToStart(pod, plan, facts)) return true;
    // One that was told to stop, with cause or another call is to blame, is done for if its policy is Never.
    if (last?.endedAtMs === undefined) {
      return last !== undefined && facts.stopAskedAtMs(last.id) !== undefined && restartPolicyOf(pod, plan) === 'Never';
    }
    return !facts.mayRunAgain(pod, last);
  };
  const failed = (plan: ContainerPlan): boolean => {
    if (isSidecar(pod, plan.name)) return false;
    // Whatever came of it before: in a new sandbox it runs again.
    if (hasFailedToStart(pod, plan, facts)) return true;
    const last = facts.lives.of(pod.uid, plan.name).at(-1);
    const passed = last?.exitCode !== undefined && !hasFailed(pod, plan.name, last);
    return done(plan) && !passed;
  };
  return pod.containers.every(done) || pod.init.some(failed);
}
