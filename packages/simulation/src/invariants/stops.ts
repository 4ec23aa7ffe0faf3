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
 * F1: before all sources have reported, no pod is stopped that no source has reported, unless another static pod has
 * taken its name (F4).
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

/**
 * Reports whether another static pod has taken the pod's name: a pod of the same name was wanted at any time since the
 * kubelet started.
 */
function hasLostItsPlace(uid: string, { pods, kubeletStartedAtMs }: Facts): boolean {
  if (pods.isApiPod(uid)) return false;
  const name = pods.planOf(uid)?.name;
  return pods.knownUids.some((other) => {
    if (other === uid || pods.isApiPod(other) || pods.planOf(other)?.name !== name) return false;
    // The kubelet may have stored a pod whose manifest was malformed when the kubelet started. Until the manifest URL
    // responds, the kubelet may also use a stored pod that the URL served before.
    return pods.wanted.has(other) || pods.unwantedSinceMs(other) >= kubeletStartedAtMs || pods.isUnsure(other);
  });
}

/**
 * P5: remains of unknown pods are removed only after all sources have reported. Empty sandboxes that a later sandbox of
 * the same pod has replaced may be removed at any time, because no pod needs these sandboxes (`evictSandboxes`).
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

/**
 * Returns the UID of the pod to which a directory, its volumes or its logs belong. Files of exited containers may be
 * removed at any time.
 */
function podOfDirectory(path: string): string | undefined {
  // A kubelet may continue a deletion that the previous kubelet started.
  if (path.includes('/deleting~')) return undefined;
  const [uid, ...below] = path.startsWith(`${ROOT_DIRECTORY}/pods/`) ? path.split('/').slice(5) : [];
  if (uid !== undefined) return below.length === 0 || below[0] === 'volumes' ? uid : undefined;
  const [logs, ...more] = path.startsWith(`${POD_LOGS_DIRECTORY}/`) ? path.split('/').slice(4) : [];
  return more.length === 0 ? logs?.split('_')[2] : undefined;
}

/** Returns the invariant that is broken if a healthy container is stopped without a reason. */
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
    // Most calls stop no container, and each of the invariants in this file judges all calls.
    if (stopped.length === 0) return undefined;
    const lives = stopped.filter((life) => attribution(life, facts) === id);
    if (lives.length === 0) return undefined;
    const life = lives.find((stopped) => !hasCause(stopped, facts));
    return judged(
      life && `${observation.call.name} of container ${life.name} of pod ${life.podUid}, which is healthy and wanted`,
    );
  });
}

/** F2: if a manifest becomes malformed, the pods of its last good version keep running. */
export const lastGood: Invariant = withoutCause('F2');
/** K1: containers keep running when the kubelet is killed and restarted. */
export const survivesKubelet: Invariant = withoutCause('K1');
/** K2: containers keep running when the runtime is restarted. */
export const survivesRuntime: Invariant = withoutCause('K2');
/** K3: an outage of the API server stops no container. */
export const survivesApiServer: Invariant = withoutCause('K3');
/** C6: no container is stopped without a reason. */
export const noNeedlessStop: Invariant = withoutCause('C6');

/** Reports whether there was any reason to stop a container. */
function hasCause(life: Life, facts: Facts): boolean {
  const { podUid, startedAtMs, sandboxId } = life;
  const pod = facts.pods.wanted.get(podUid);
  // A pod that was removed and added again since its sync started must be terminated before it is restarted (P3).
  const sinceMs = Math.min(startedAtMs, facts.syncBeganAtMs(podUid));
  if (pod === undefined || facts.pods.lastUnwantedAtMs(podUid) >= sinceMs || facts.pods.isUnsure(podUid)) return true;
  if (facts.lives.sandboxLostAtMs(sandboxId) !== undefined || facts.wasEnded(podUid)) return true;
  // All containers of an orphaned pod are stopped, also containers that start late.
  if (facts.isOrphanBeingEnded(podUid)) return true;
  if (facts.lives.mayHaveTwoSandboxes(podUid, startedAtMs, facts.nowMs)) return true;
  // A request of a previous kubelet may take effect late and leave new containers in a stopped sandbox.
  if (facts.sandboxStopAskedAtMs(sandboxId) < facts.nowMs) return true;
  if (facts.nowMs - startedAtMs >= illAfterMs(life.plan, life.attempt)) return true;
  if (facts.hooks.mayHaveFailed(life) || facts.restartAll.mayEnd(life)) return true;
  if (facts.lives.runningOf(podUid).some((other) => other !== life && other.name === life.name)) return true;
  const current = [...pod.init, ...pod.containers].find(({ name }) => name === life.name);
  if (JSON.stringify(current) !== JSON.stringify(life.plan)) return true;
  return isOver(pod, facts);
}

/** Exit code of a container that the runtime could not start. */
const START_ERROR_EXIT_CODE = 128;

/**
 * Reports whether a container was created since its last run, failed to start because of a fault, and must not be
 * restarted.
 */
export function hasFailedToStart(pod: PodPlan, plan: ContainerPlan, facts: Facts): boolean {
  const last = facts.lives.of(pod.uid, plan.name).at(-1);
  const sinceMs = last === undefined ? 0 : (last.endedAtMs ?? Number.POSITIVE_INFINITY);
  const failed = facts.createAskedAtMs(pod.uid, plan.name) >= sinceMs && facts.firstFaultAtMs <= facts.nowMs;
  return failed && !mayRestart(pod, plan, { exitCode: START_ERROR_EXIT_CODE });
}

/** Exit code of a container whose exit the kubelet has not seen. */
const UNKNOWN_EXIT_CODE = 137;

/**
 * Reports whether a container counts as failed and must not be restarted, because the record of its last run was
 * removed before the kubelet had seen the exit. An init container has completed if a main container has started after
 * it.
 */
export function hasFailedUnseen(pod: PodPlan, plan: ContainerPlan, { lives, records }: Facts): boolean {
  const last = lives.of(pod.uid, plan.name).at(-1);
  if (last === undefined || !records.isReportedAsLost(last)) return false;
  const isFollowed = pod.containers.some(({ name }) =>
    lives.of(pod.uid, name).some((main) => main.sandboxId === last.sandboxId && main.startedAtMs > last.startedAtMs),
  );
  const isInit = pod.init.some(({ name }) => name === plan.name);
  return !(isInit && isFollowed) && !mayRestart(pod, plan, { exitCode: UNKNOWN_EXIT_CODE });
}

/**
 * Reports whether a sync in progress stopped a container with policy Never because of its liveness probe. The container
 * had no exit code when the sync decided which other containers of the pod to stop, so no restart rule could match.
 */
function isStoppedAsIll(pod: PodPlan, life: Life, facts: Facts): boolean {
  const { id, podUid, plan, attempt, startedAtMs, endedAtMs = -1 } = life;
  // A container may exit during its preStop hook, before any call stops it.
  const stoppedAtMs = facts.stopAskedAtMs(id) ?? (plan.preStopSeconds === undefined ? -1 : endedAtMs);
  const isOfThisSync = stoppedAtMs >= facts.syncBeganAtMs(podUid);
  const wasIll = stoppedAtMs - startedAtMs >= illAfterMs(plan, attempt);
  return isOfThisSync && wasIll && restartPolicyOf(pod, plan) === 'Never';
}

/** Reports whether a pod has completed or failed. */
export function isOver(pod: PodPlan, facts: Facts): boolean {
  const done = (plan: ContainerPlan): boolean => {
    const last = facts.lives.of(pod.uid, plan.name).at(-1);
    // A start that failed because of a fault counts as an exit.
    if (hasFailedToStart(pod, plan, facts) || hasFailedUnseen(pod, plan, facts)) return true;
    // A container whose stop was requested does not run again if its policy is Never. Other invariants check whether
    // the kubelet had a reason for the request.
    if (last?.endedAtMs === undefined) {
      return last !== undefined && facts.stopAskedAtMs(last.id) !== undefined && restartPolicyOf(pod, plan) === 'Never';
    }
    return !facts.mayRunAgain(pod, last) || isStoppedAsIll(pod, last, facts);
  };
  const failed = (plan: ContainerPlan): boolean => {
    if (isSidecar(pod, plan.name)) return false;
    // An init container runs again in a new sandbox, so a failed start counts even if an earlier run has succeeded.
    if (hasFailedToStart(pod, plan, facts) || hasFailedUnseen(pod, plan, facts)) return true;
    const last = facts.lives.of(pod.uid, plan.name).at(-1);
    const passed = last?.exitCode !== undefined && !hasFailed(pod, plan.name, last);
    return done(plan) && !passed;
  };
  return pod.containers.every(done) || pod.init.some(failed);
}
