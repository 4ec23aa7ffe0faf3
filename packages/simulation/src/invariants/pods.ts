import { SEEN_MS } from '../facts/manifest-facts.ts';
import { SHUTDOWN_REASON } from '../facts/shutdown-facts.ts';
import type { WorkerStep } from '../observation.ts';
import { calledFor } from './called-for.ts';
import { type Invariant, invariant, judged } from './invariant.ts';
import { watchSilenceMs } from './watch-silence.ts';

type Phase = 'syncing' | 'terminating' | 'terminated' | 'finished';

const PHASE_OF: Readonly<Record<WorkerStep, Phase>> = {
  syncPod: 'syncing',
  syncTerminatingPod: 'terminating',
  syncTerminatingRuntimePod: 'terminating',
  syncTerminatedPod: 'terminated',
};

/**
 * P1: the operations of a pod worker go in one direction: syncing, terminating, terminated. P3 defines when a UID may
 * start again.
 */
export const oneWay: Invariant = invariant('P1', ['kubeletStarted', 'stepBegan', 'stepEnded', 'podEndedByNode'], () => {
  const phases = new Map<string, Phase>();
  /** Times at which the termination of each pod last finished. */
  const terminatedAtMs = new Map<string, number>();
  /**
   * Pods that were terminated again during their termination. The operation is repeated so that the status states the
   * new reason (P2).
   */
  const endedAgain = new Set<string>();
  /**
   * By pod UID: time of the shutdown for which the termination of an already terminated pod was repeated. A shutdown
   * repeats the termination once, so that the status states the shutdown as the reason.
   */
  const endedForShutdown = new Map<string, number>();
  return (observation, facts) => {
    if (observation.kind === 'kubeletStarted') {
      phases.clear();
      terminatedAtMs.clear();
      endedAgain.clear();
      endedForShutdown.clear();
    }
    if (observation.kind === 'podEndedByNode') {
      const { uid, atMs } = observation;
      // The termination may have finished at this instant, so that the pod worker has not processed its end yet.
      const isBeingEnded = phases.get(uid) === 'terminating' || terminatedAtMs.get(uid) === atMs;
      if (isBeingEnded) endedAgain.add(uid);
    }
    if (observation.kind !== 'stepBegan' && observation.kind !== 'stepEnded') return undefined;
    const { uid, step } = observation;
    const phase = phases.get(uid);
    if (observation.kind === 'stepEnded') {
      if (step === 'syncTerminatedPod' && observation.ok) phases.set(uid, 'finished');
      else if (step === 'syncTerminatingRuntimePod' && observation.ok) phases.delete(uid);
      else if (step === 'syncTerminatingPod' && observation.ok) {
        phases.set(uid, 'terminated');
        terminatedAtMs.set(uid, observation.atMs);
      }
      return 'ok';
    }
    const next = PHASE_OF[step];
    const { heardAtMs } = facts.shutdown;
    const isLate =
      phase === 'terminated' && observation.reason === SHUTDOWN_REASON && endedForShutdown.get(uid) !== heardAtMs;
    if (isLate) endedForShutdown.set(uid, heardAtMs);
    // The next termination of the pod is the repetition, whether or not it succeeds.
    const isRepeat = (endedAgain.delete(uid) || isLate) && next === 'terminating';
    const order: readonly (Phase | undefined)[] = ['syncing', 'terminating', 'terminated'];
    const back = phase !== 'finished' && !isRepeat && order.indexOf(next) < order.indexOf(phase);
    // A kubelet that starts when the API shows a terminal phase, and finds no running container, only has to clean up.
    const known = phase === undefined && facts.api.hasEnded(uid) && facts.lives.runningOf(uid).length === 0;
    const skips = next === 'terminated' && phase !== 'terminated' && !known;
    if (phase !== next || next === 'syncing') phases.set(uid, next);
    return judged((back || skips) && `${step} of pod ${uid} started in phase ${phase ?? 'unknown'}`);
  };
});

/** P2: at most one operation of a UID runs at a time. */
export const oneAtATime: Invariant = invariant('P2', ['kubeletStarted', 'stepBegan', 'stepEnded'], () => {
  const running = new Map<string, WorkerStep>();
  return (observation) => {
    if (observation.kind === 'kubeletStarted') running.clear();
    if (observation.kind === 'stepEnded') running.delete(observation.uid);
    if (observation.kind !== 'stepBegan') return undefined;
    const { uid, step } = observation;
    const other = running.get(uid);
    running.set(uid, step);
    return judged(other && `${step} of pod ${uid} started while its ${other} is running`);
  };
});

/**
 * P3: after the termination of a pod, the same UID is started again only if the pod was removed from the configuration
 * since the last sync.
 */
export const uidsAreFreed: Invariant = invariant('P3', ['kubeletStarted', 'stepBegan', 'stepEnded'], () => {
  const endings = new Map<string, { readonly fromMs: number; finished: boolean }>();
  /** Start times of the terminations of pods that only the runtime knew. */
  const orphansFromMs = new Map<string, number>();
  return (observation, facts) => {
    if (observation.kind === 'kubeletStarted') {
      endings.clear();
      orphansFromMs.clear();
    }
    if (observation.kind !== 'stepBegan' && observation.kind !== 'stepEnded') return undefined;
    const { uid, step, atMs } = observation;
    const ending = endings.get(uid);
    if (observation.kind === 'stepEnded') {
      if (step === 'syncTerminatedPod' && observation.ok && ending !== undefined) ending.finished = true;
      return undefined;
    }
    if (step === 'syncTerminatingRuntimePod' && !orphansFromMs.has(uid)) orphansFromMs.set(uid, atMs);
    // A termination that waits for a runtime that is down was requested long before its start. A termination that
    // started when only the runtime knew the pod continues if the pod is added and removed during the termination.
    if (step === 'syncTerminatingPod' && ending === undefined) {
      const isJustBack = facts.runtimeUp && atMs - facts.runtimeChangedAtMs < SEEN_MS;
      const heldFromMs = isJustBack ? facts.runtimeDownAtMs : atMs;
      // A kubelet that has not synced the pod may have waited for the runtime since its start.
      const began = facts.syncBeganAtMs(uid);
      const syncedMs = Number.isFinite(began) ? began : facts.kubeletStartedAtMs;
      const fromMs = Math.min(heldFromMs, syncedMs, orphansFromMs.get(uid) ?? atMs);
      endings.set(uid, { fromMs, finished: false });
    }
    if (step === 'syncPod') orphansFromMs.delete(uid);
    if (step !== 'syncPod' || ending === undefined) return undefined;
    endings.delete(uid);
    if (!ending.finished)
      return { wrong: `syncPod of pod ${uid} started before the previous pod with this UID had terminated` };
    const freed = facts.pods.lastUnwantedAtMs(uid) >= ending.fromMs - SEEN_MS;
    return judged(!freed && `syncPod of pod ${uid} started again although the pod never left the configuration`);
  };
});

/** P4: at most one pod runs per static pod full name. */
export const oneOfAFullName: Invariant = invariant('P4', ['containerStarted'], () => (observation, facts) => {
  if (observation.kind !== 'containerStarted') return undefined;
  const { life } = observation;
  // A force-deleted API pod may be replaced by another pod of the same name while its containers still run.
  if (facts.pods.isApiPod(life.podUid)) return undefined;
  const other = facts.lives.running.find(({ podName, podUid }) => podName === life.podName && podUid !== life.podUid);
  return judged(
    other &&
      `container ${life.name} of pod ${life.podUid} started while container ${other.name} of pod ${other.podUid} is running, and both pods are named ${life.podName}`,
  );
});

/** P6: a pod that only the runtime knows is killed, never started. */
export const orphansNeverStart: Invariant = invariant('P6', ['call'], () => (observation, facts) => {
  if (observation.kind !== 'call') return undefined;
  const { name } = observation.call;
  if (name !== 'runPodSandbox' && name !== 'createContainer') return undefined;
  const uid = calledFor(observation.call, facts);
  if (uid === undefined || facts.pods.wanted.has(uid) || facts.pods.isUnsure(uid)) return 'ok';
  const unwantedMs = facts.pods.unwantedSinceMs(uid);
  // The kubelet detects a change of a manifest that it could not read only when it can read the manifest again.
  const sinceMs = facts.pods.isApiPod(uid) ? unwantedMs : Math.max(unwantedMs, facts.pods.hiddenUntilMs);
  // A watch that hangs without a visible error is reopened only after a timeout, and an unreachable server sends no
  // changes.
  const heardMs = facts.api.inTrouble ? observation.atMs : Math.max(sinceMs, facts.api.troubleAtMs);
  const hangs = facts.pods.isApiPod(uid) && observation.atMs - heardMs < watchSilenceMs(facts);
  // F1: a pod that was removed before all sources had reported is terminated when all sources have reported.
  const fromMs = facts.sourcesReady ? Math.max(sinceMs, facts.sourcesReadyAtMs) : observation.atMs;
  // The kubelet may have listed a pod that was removed at the instant of the kubelet's start. A stale list may be much
  // older.
  const isListed =
    sinceMs >= facts.kubeletStartedAtMs ||
    (facts.pods.isApiPod(uid) && facts.api.wasStaleSince(facts.kubeletStartedAtMs));
  const known = isListed && (observation.atMs - fromMs < SEEN_MS || hangs);
  return judged(!known && `${name} for pod ${uid}, which is not wanted`);
});
