import {
  anyAsksToRestartAll,
  bareContainerId,
  type Container,
  type ContainerStatus,
  isRestartableInit,
  isTerminalPhase,
  oncePer,
  type Pod,
  type PodStatus,
  type RestartFeatures,
  shouldRestartExited,
} from '@node-agent/pod-spec';
import type { ProbeTimes } from './probe-times.ts';
import type { ProbeKind, ProbeResult } from './types.ts';

/** State of a probe between two rounds. A new probe has the state {@link newWorkerState}. */
export interface WorkerState {
  /** Runtime ID of the container that results apply to; '' before there is one. */
  readonly containerId: string;
  /**
   * Result of the last attempt, and the number of consecutive attempts with that result, up to the threshold;
   * `undefined` before the first attempt.
   */
  readonly last: 'success' | 'failure' | undefined;
  readonly run: number;
  /**
   * Whether the result is final for this container: the container must be restarted, or need not be probed any more.
   */
  readonly onHold: boolean;
}

/** Facts that a probe uses when it is due. */
export interface ProbeFacts {
  readonly kind: ProbeKind;
  readonly pod: Pod;
  readonly container: Container;
  readonly times: Pick<ProbeTimes, 'initialDelayMs'>;
  /** Reported status of the pod; `undefined` if nothing is known of the pod yet. */
  readonly status: PodStatus | undefined;
  /**
   * Returns the startup result of the container with this ID; `undefined` if it has no startup probe or no result yet.
   */
  readonly startup: (containerId: string) => ProbeResult | undefined;
  /** Whether the probe connects to the pod's own address. */
  readonly needsAddress: boolean;
  /** Wall-clock time in ms. */
  readonly nowMs: number;
  /** How long `state.containerId` has been known, by the monotonic clock, because the wall clock may be set back. */
  readonly knownForMs: number;
  readonly features: RestartFeatures;
}

/** Decision of one round. */
export interface Decision {
  readonly state: WorkerState;
  readonly next:
    | { readonly kind: 'probe' }
    /**
     * The probe waits: it is checked again after one period, or earlier at `atMs` (wall clock) if that time is known.
     */
    | { readonly kind: 'wait'; readonly why: string; readonly atMs?: number }
    /** The probe is never needed again. */
    | { readonly kind: 'end' };
  /** ID of the container whose result is removed. */
  readonly forget?: string;
  /** New result of the container `state.containerId`. */
  readonly set?: ProbeResult;
}

const PROBE: Decision['next'] = { kind: 'probe' };

/** State before the first container. */
export const newWorkerState: WorkerState = { containerId: '', last: undefined, run: 0, onHold: false };

/** R1: result of a container before its first probe. */
const INITIAL: Readonly<Record<ProbeKind, ProbeResult>> = {
  liveness: 'success',
  readiness: 'failure',
  startup: 'unknown',
};

/**
 * Decides whether the probe runs now, and what follows from the status alone (`doProbe` in
 * `pkg/kubelet/prober/worker.go`).
 */
export function beforeProbe(before: WorkerState, facts: ProbeFacts): Decision {
  const { kind, pod, status, nowMs } = facts;
  if (status === undefined) return { state: before, next: { kind: 'wait', why: 'the status of the pod' } };
  const found = statusOf(status, facts.container.name);
  // An eviction, a deadline or a node shutdown sets the phase to Failed before the containers have stopped. Readiness
  // is probed until the containers have stopped; upstream stops probing at the phase Failed
  // (`pkg/kubelet/prober/worker.go: doProbe`).
  const isStillRunning = kind === 'readiness' && found?.status.state?.running != null;
  if (isTerminalPhase(status.phase) && !isStillRunning) return { state: before, next: { kind: 'end' } };
  if (found === undefined) return { state: before, next: { kind: 'wait', why: 'the container' } };

  const changes = before.containerId === found.id ? { state: before } : onContainer(before, found, facts);
  const { state } = changes;
  if (state.onHold) return { ...changes, next: { kind: 'wait', why: 'a new container' } };
  const running = found.status.state?.running;
  if (running == null) {
    const next = startsAgain(found.status, facts, status)
      ? ({ kind: 'wait', why: 'the container' } as const)
      : ({ kind: 'end' } as const);
    // The liveness result of a container that was only created is not a failure: the container must not be killed
    // because it does not run yet.
    const failed = kind === 'readiness' || found.status.state?.terminated != null;
    return { ...changes, ...(failed && { set: 'failure' }), next };
  }
  if (pod.metadata.deletionTimestamp != null && kind !== 'readiness') {
    return { ...changes, set: 'success', next: { kind: 'end' } };
  }
  const { initialDelayMs } = facts.times;
  const knownForMs = state.containerId === before.containerId ? facts.knownForMs : 0;
  const delayedUntilMs = timeOf(running.startedAt) + initialDelayMs;
  if (nowMs < delayedUntilMs && knownForMs < initialDelayMs) {
    return {
      ...changes,
      next: {
        kind: 'wait',
        why: 'the end of the initial delay',
        atMs: Math.min(delayedUntilMs, nowMs + initialDelayMs - knownForMs),
      },
    };
  }
  const started = found.status.started === true || facts.startup(found.id) === 'success';
  if (kind === 'startup' && started) return { ...changes, next: { kind: 'wait', why: 'a new container' } };
  if (kind !== 'startup' && !started) return { ...changes, next: { kind: 'wait', why: 'the startup probe' } };
  if (facts.needsAddress && !status.podIP) return { ...changes, next: { kind: 'wait', why: "the pod's address" } };
  return { ...changes, next: PROBE };
}

/** R2: applies a probe's result to the state, according to the thresholds. */
export function afterProbe(
  before: WorkerState,
  result: 'success' | 'failure',
  kind: ProbeKind,
  { successThreshold, failureThreshold }: Pick<ProbeTimes, 'successThreshold' | 'failureThreshold'>,
): { readonly state: WorkerState; readonly set?: 'success' | 'failure' } {
  const threshold = result === 'success' ? successThreshold : failureThreshold;
  // The count stops at the threshold, so that a repeated result leaves the state unchanged.
  const run = before.last === result ? Math.min(before.run + 1, threshold) : 1;
  const isSame = before.last === result && before.run === run;
  const state: WorkerState = isSame ? before : { ...before, last: result, run };
  if (run < threshold) return { state };
  // The container is not probed until its successor exists: it is being stopped, or it has started and needs no more
  // startup probes.
  const holds = kind === 'startup' || (kind === 'liveness' && result === 'failure');
  return { state: holds ? { ...state, onHold: true } : state, set: result };
}

/** R2: resets the state for a new container. A container from before a kubelet restart keeps its known result (S6). */
function onContainer(
  before: WorkerState,
  { id, status }: { readonly id: string; readonly status: ContainerStatus },
  { kind }: ProbeFacts,
): Pick<Decision, 'state' | 'forget' | 'set'> {
  const forget = before.containerId === '' ? {} : { forget: before.containerId };
  const state = { ...newWorkerState, containerId: id };
  if (kind === 'startup' && status.started === true) return { state, ...forget, set: 'success' };
  if (kind === 'readiness' && status.ready) return { state, ...forget };
  return { state, ...forget, set: INITIAL[kind] };
}

/** Returns when the container of this name started, by the wall clock; `undefined` if it does not run. */
export function runningSinceMs(status: PodStatus | undefined, name: string): number | undefined {
  const running = status && statusOf(status, name)?.status.state?.running;
  return running == null ? undefined : timeOf(running.startedAt);
}

interface FoundStatus {
  readonly id: string;
  readonly status: ContainerStatus;
}

function statusOf(status: PodStatus, name: string): FoundStatus | undefined {
  return statusesByName(status).get(name);
}

/**
 * Container statuses with an ID, by name. The statuses are indexed, because containers are looked up one by one and a
 * pod may have thousands.
 */
const statusesByName = oncePer(({ containerStatuses, initContainerStatuses }: PodStatus) => {
  const byName = new Map<string, FoundStatus>();
  for (const status of [...(containerStatuses ?? []), ...(initContainerStatuses ?? [])]) {
    const id = bareContainerId(status.containerID);
    if (id !== '' && !byName.has(status.name)) byName.set(status.name, { id, status });
  }
  return byName;
});

function startsAgain(status: ContainerStatus, { pod, container, features }: ProbeFacts, podStatus: PodStatus): boolean {
  const terminated = status.state?.terminated;
  if (terminated == null) return true;
  const { exitCode, reason = '' } = terminated;
  if (isSidecar(pod, container) || shouldRestartExited(pod, container, { exitCode, reason }, features)) return true;
  return features.restartAllContainers && restartsAll(podStatus)(pod);
}

const restartsAll = oncePer((status: PodStatus) =>
  oncePer((pod: Pod) =>
    anyAsksToRestartAll(pod, (name) => {
      const exit = statusOf(status, name)?.status.state?.terminated;
      return exit == null ? undefined : { state: 'exited', exitCode: exit.exitCode };
    }),
  ),
);

function isSidecar(pod: Pod, { name }: Container): boolean {
  return (pod.spec.initContainers ?? []).some((init) => init.name === name && isRestartableInit(init));
}

function timeOf(text: string | undefined): number {
  return text === undefined ? 0 : Date.parse(text);
}
