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

/** P1: a pod's steps go one way: syncing, terminating, terminated. P3 says when a UID may begin again. */
export const oneWay: Invariant = invariant('P1', ['kubeletStarted', 'stepBegan', 'stepEnded', 'podEndedByNode'], () => {
  const phases = new Map<string, Phase>();
  /** When the end of each pod was last done. */
  const terminatedAtMs = new Map<string, number>();
  /** Pods that were ended once more while their end was under way: it is done again, for its status to say why (P2). */
  const endedAgain = new Set<string>();
  /** Of which shutdown that was so: it, too, says why, once. */
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
      // Its worker has not heard of the end of a step that has just ended.
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
    // Whatever comes of it, it comes next.
    const isRepeat = (endedAgain.delete(uid) || isLate) && next === 'terminating';
    const order: readonly (Phase | undefined)[] = ['syncing', 'terminating', 'terminated'];
    const back = phase !== 'finished' && !isRepeat && order.indexOf(next) < order.indexOf(phase);
    // A kubelet that starts when the API shows a pod as ended, and finds nothing of it running, has only to clean up.
    const known = phase === undefined && facts.api.hasEnded(uid) && facts.lives.runningOf(uid).length === 0;
    const skips = next === 'terminated' && phase !== 'terminated' && !known;
    if (phase !== next || next === 'syncing') phases.set(uid, next);
    return judged((back || skips) && `${step} of pod ${uid} begins, which was ${phase ?? 'unknown'}`);
  };
});

/** P2: at most one step of a UID runs at a time. */
export const oneAtATime: Invariant = invariant('P2', ['kubeletStarted', 'stepBegan', 'stepEnded'], () => {
  const running = new Map<string, WorkerStep>();
  return (observation) => {
    if (observation.kind === 'kubeletStarted') running.clear();
    if (observation.kind === 'stepEnded') running.delete(observation.uid);
    if (observation.kind !== 'stepBegan') return undefined;
    const { uid, step } = observation;
    const other = running.get(uid);
    running.set(uid, step);
    return judged(other && `${step} of pod ${uid} begins while its ${other} runs`);
  };
});

/** P3: after its last step a UID is used again only where it was out of the configuration since it was last synced. */
export const uidsAreFreed: Invariant = invariant('P3', ['kubeletStarted', 'stepBegan', 'stepEnded'], () => {
  const endings = new Map<string, { readonly fromMs: number; finished: boolean }>();
  /** When the end of each pod began of which the runtime alone was known. */
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
    // The end may have been ordered long before its step begins, which waits for a runtime that is down. One that began while
    // the runtime alone was known goes on when the pod comes and goes meanwhile: it is one end.
    if (step === 'syncTerminatingPod' && ending === undefined) {
      const isJustBack = facts.runtimeUp && atMs - facts.runtimeChangedAtMs < SEEN_MS;
      const heldFromMs = isJustBack ? facts.runtimeDownAtMs : atMs;
      // A kubelet that has not begun to sync it yet may have waited for the runtime ever since its start.
      const began = facts.syncBeganAtMs(uid);
      const syncedMs = Number.isFinite(began) ? began : facts.kubeletStartedAtMs;
      const fromMs = Math.min(heldFromMs, syncedMs, orphansFromMs.get(uid) ?? atMs);
      endings.set(uid, { fromMs, finished: false });
    }
    if (step === 'syncPod') orphansFromMs.delete(uid);
    if (step !== 'syncPod' || ending === undefined) return undefined;
    endings.delete(uid);
    if (!ending.finished) return { wrong: `syncPod of pod ${uid} begins before its last life was over` };
    const freed = facts.pods.lastUnwantedAtMs(uid) >= ending.fromMs - SEEN_MS;
    return judged(!freed && `syncPod of pod ${uid} begins anew, though it never left the configuration`);
  };
});

/** P4: one running pod per static pod full name. */
export const oneOfAFullName: Invariant = invariant('P4', ['containerStarted'], () => (observation, facts) => {
  if (observation.kind !== 'containerStarted') return undefined;
  const { life } = observation;
  // A pod of the API is taken out of it at once, and another one comes under its name, while its containers still end.
  if (facts.pods.isApiPod(life.podUid)) return undefined;
  const other = facts.lives.running.find(({ podName, podUid }) => podName === life.podName && podUid !== life.podUid);
  return judged(
    other &&
      `container ${life.name} of pod ${life.podUid} starts while container ${other.name} of pod ${other.podUid} runs: both pods are ${life.podName}`,
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
  // A change that could not be read was seen later.
  const sinceMs = facts.pods.isApiPod(uid) ? unwantedMs : Math.max(unwantedMs, facts.pods.hiddenUntilMs);
  // A watch that hangs, with nothing to be seen of it, is dialled anew after its silence only; one that is away says nothing.
  const heardMs = facts.api.inTrouble ? observation.atMs : Math.max(sinceMs, facts.api.troubleAtMs);
  const hangs = facts.pods.isApiPod(uid) && observation.atMs - heardMs < watchSilenceMs(facts);
  // F1: what was dropped while another source had not spoken yet is taken away when that has.
  const fromMs = facts.sourcesReady ? Math.max(sinceMs, facts.sourcesReadyAtMs) : observation.atMs;
  // What goes at the instant at which the kubelet starts may have been listed before it went; and what is listed late, long before.
  const isListed =
    sinceMs >= facts.kubeletStartedAtMs ||
    (facts.pods.isApiPod(uid) && facts.api.wasStaleSince(facts.kubeletStartedAtMs));
  const known = isListed && (observation.atMs - fromMs < SEEN_MS || hangs);
  return judged(!known && `${name} for pod ${uid}, which nobody wants`);
});
