import { isStaticPod, isTerminalPhase, type Pod } from '@node-agent/pod-spec';
import { deletionSecondsLeft, effectiveGracePeriodSeconds } from './grace-period.ts';
import {
  complete,
  type PodWork,
  type PodWorkerEffect,
  type PodWorkerEvent,
  type PodWorkerState,
  type PodWorkerTransition,
} from './record.ts';
import type { KillPodOptions, UpdatePodOptions } from './types.ts';

type UpdateEvent = Extract<PodWorkerEvent, { type: 'update' }>;

/** Handles an update (`UpdatePod` in `pkg/kubelet/pod_workers.go`). */
export function onUpdate(state: PodWorkerState | undefined, event: UpdateEvent): PodWorkerTransition {
  const { options } = event;
  const runtimeOnly = options.pod === undefined;
  if (runtimeOnly && options.updateType !== 'kill') {
    return ignore(state, options, 'a pod that only the runtime knows can only be killed');
  }
  // A `create` update of a known terminating pod requests a restart. An update of a pod that is seen for the first time
  // does not request a restart, because after a kubelet restart, pods that terminated long ago are created again.
  if (state !== undefined && state.phase !== 'syncing' && options.updateType === 'create') {
    return ignore(
      { ...state, restartRequested: true },
      options,
      'the pod is terminating; it is started again when it has terminated',
    );
  }
  if (state?.phase === 'finished') return ignore(withDeletion(state, options.pod), options, 'the pod is finished');
  if (state?.phase === 'terminated' && runtimeOnly) {
    return ignore(state, options, 'the pod has terminated; its pod worker is cleaning up');
  }

  const known = state ?? newRecord(event);
  const work = toUpdate(known, options);
  const observed = withDeletion({ ...known, observedRuntime: known.observedRuntime || runtimeOnly }, options.pod);
  const kill: KillPodOptions = options.killPodOptions ?? {};
  const claimed = observed.phase === 'syncing' ? startTermination(observed, work.pod, runtimeOnly, options) : observed;
  const pending: PodWork = {
    ...work,
    startTimeMs: oldest(known.pending?.startTimeMs, options.startTimeMs),
    patient: work.patient && claimed.phase === 'syncing' && (known.pending?.patient ?? true),
  };

  if (claimed.phase !== 'terminating') {
    // A pod that is still syncing was not killed by this update, and a terminated pod cannot be killed, so `completed`
    // is called now.
    return {
      state: { ...claimed, pending },
      effects: [{ kind: 'begin' }, ...complete(kill.completed ? [kill.completed] : [])],
    };
  }
  // If a pod is already deleted when this kubelet first sees it, the pod has been terminating under an earlier kubelet,
  // and only the rest of its grace period applies. For later updates, this node measures the grace period with its own
  // clock.
  const currentSeconds =
    state === undefined && work.pod !== undefined
      ? deletionSecondsLeft(work.pod, event.nowMs)
      : known.gracePeriodSeconds;
  const seconds = effectiveGracePeriodSeconds(currentSeconds, work.pod, kill.gracePeriodSecondsOverride);
  const urgent =
    known.phase === 'syncing' || (known.gracePeriodSeconds !== undefined && seconds < known.gracePeriodSeconds);
  const effects: PodWorkerEffect[] = [{ kind: 'begin' }];
  if (urgent && claimed.running !== undefined) effects.unshift({ kind: 'cancel' });
  return {
    state: {
      ...claimed,
      pending,
      evicted: claimed.evicted || (options.updateType === 'kill' && kill.evict === true),
      gracePeriodSeconds: seconds,
      completions: kill.completed ? [...claimed.completions, kill.completed] : claimed.completions,
      podStatusFns: kill.podStatusFn ? [...claimed.podStatusFns, kill.podStatusFn] : claimed.podStatusFns,
      podStatusFnIsLate:
        claimed.podStatusFnIsLate || (kill.podStatusFn !== undefined && claimed.running === 'syncTerminatingPod'),
    },
    effects,
  };
}

/** Returns the record of a syncing pod after an update that may request termination. */
function startTermination(
  state: PodWorkerState,
  pod: Pod | undefined,
  runtimeOnly: boolean,
  options: UpdatePodOptions,
): PodWorkerState {
  const deleted = state.deleted || runtimeOnly;
  if (!deleted && !isTerminalPhase(pod?.status?.phase) && options.updateType !== 'kill') return state;
  return { ...state, phase: 'terminating', deleted };
}

/**
 * Marks a terminated pod as deleted if the update has a deletionTimestamp, so that the pod's remains can be removed.
 * The API object is deleted when nothing is left (S5). Upstream does not record a deletion at this stage.
 */
function withDeletion(state: PodWorkerState, pod: Pod | undefined): PodWorkerState {
  return pod?.metadata.deletionTimestamp === undefined ? state : { ...state, deleted: true };
}

/** Returns the initial record of a pod, before its first update is processed. */
function newRecord({ options, nothingRunning, nowMs }: UpdateEvent): PodWorkerState {
  const { uid, name, namespace } = identityOf(options);
  // A pod that had terminated before the kubelet restarted must not count as active again, but its status must still be
  // reported and its resources released (k/k#105523).
  const terminated = isTerminalPhase(options.pod?.status?.phase) && nothingRunning;
  return {
    uid,
    name,
    namespace,
    fullName: `${name}_${namespace}`,
    static: options.pod !== undefined && isStaticPod(options.pod),
    phase: terminated ? 'terminated' : 'syncing',
    running: undefined,
    pending: undefined,
    active: undefined,
    seenAtMs: nowMs,
    startedAtMs: undefined,
    terminationStarted: terminated,
    deleted: false,
    evicted: false,
    restartRequested: false,
    observedRuntime: false,
    gracePeriodSeconds: undefined,
    completions: [],
    podStatusFns: [],
    podStatusFnIsLate: false,
  };
}

/**
 * Returns the part of an update that the pod worker keeps. A known pod spec is kept when an update from the runtime
 * arrives.
 */
function toUpdate(state: PodWorkerState, options: UpdatePodOptions): PodWork {
  const pod = options.pod ?? state.pending?.pod ?? state.active?.pod;
  return {
    updateType: options.updateType,
    pod,
    mirrorPod: options.mirrorPod,
    runningPod: pod === undefined ? options.runningPod : undefined,
    startTimeMs: options.startTimeMs,
    patient: options.updateType === 'update',
  };
}

/** Returns the identity of the pod that an update concerns. */
export function identityOf(options: UpdatePodOptions): { uid: string; name: string; namespace: string } {
  if (options.pod !== undefined) return options.pod.metadata;
  if (options.runningPod !== undefined) return options.runningPod;
  throw new TypeError('pod update must have pod or runningPod');
}

function oldest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : Math.min(a, b);
}

function ignore(state: PodWorkerState | undefined, options: UpdatePodOptions, reason: string): PodWorkerTransition {
  const completed = options.killPodOptions?.completed;
  return { state, effects: [{ kind: 'ignored', reason }, ...complete(completed ? [completed] : [])] };
}
