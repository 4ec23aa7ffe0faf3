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

/** What a probe remembers between two rounds. A new one begins with {@link newWorkerState}. */
export interface WorkerState {
  /** The container that results are about, by the runtime's id; '' before there is one. */
  readonly containerId: string;
  /** What the last probe found, and how many in a row found it, up to the threshold; nothing at first. */
  readonly last: 'success' | 'failure' | undefined;
  readonly run: number;
  /** The result asks for a new container, or for nothing more: this one is not probed again. */
  readonly onHold: boolean;
}

/** What a probe knows of the world when it is due. */
export interface Sight {
  readonly kind: ProbeKind;
  readonly pod: Pod;
  readonly container: Container;
  readonly times: Pick<ProbeTimes, 'initialDelayMs'>;
  /** As it is reported; `undefined` where nothing is known of the pod yet. */
  readonly status: PodStatus | undefined;
  /** What the startup probe of the container with this id found; `undefined` where it has none or none ran yet. */
  readonly startup: (containerId: string) => ProbeResult | undefined;
  /** The probe goes to the pod's own address. */
  readonly needsAddress: boolean;
  /** The wall clock. */
  readonly nowMs: number;
  /** How long `state.containerId` has been known, by the monotonic clock: the wall clock may be set back. */
  readonly knownForMs: number;
  readonly features: RestartFeatures;
}

/** What is done in a round. */
export interface Decision {
  readonly state: WorkerState;
  readonly next:
    | { readonly kind: 'probe' }
    /** Looked at again after a period, or at `atMs` of the wall clock where that is known to be sooner. */
    | { readonly kind: 'wait'; readonly why: string; readonly atMs?: number }
    /** There is nothing to probe ever again. */
    | { readonly kind: 'end' };
  /** The result of this container counts for nothing any more. */
  readonly forget?: string;
  /** The result of `state.containerId`. */
  readonly set?: ProbeResult;
}

const PROBE: Decision['next'] = { kind: 'probe' };

/** Before its first container. */
export const newWorkerState: WorkerState = { containerId: '', last: undefined, run: 0, onHold: false };

/** R1: what stands for a container before its first probe. */
const INITIAL: Readonly<Record<ProbeKind, ProbeResult>> = {
  liveness: 'success',
  readiness: 'failure',
  startup: 'unknown',
};

/** Whether a probe is made now, and what follows from what is seen without one (`doProbe` in `pkg/kubelet/prober/worker.go`). */
export function beforeProbe(before: WorkerState, sight: Sight): Decision {
  const { kind, pod, status, nowMs } = sight;
  if (status === undefined) return { state: before, next: { kind: 'wait', why: 'the status of the pod' } };
  const found = statusOf(status, sight.container.name);
  // An eviction, a deadline and a shutdown set the phase to Failed before the containers have stopped. Readiness is probed until they have;
  // upstream stops at that phase (`pkg/kubelet/prober/worker.go: doProbe`).
  const stillServes = kind === 'readiness' && found?.status.state?.running != null;
  if (isTerminalPhase(status.phase) && !stillServes) return { state: before, next: { kind: 'end' } };
  if (found === undefined) return { state: before, next: { kind: 'wait', why: 'the container' } };

  const changes = before.containerId === found.id ? { state: before } : onContainer(before, found, sight);
  const { state } = changes;
  if (state.onHold) return { ...changes, next: { kind: 'wait', why: 'a new container' } };
  const running = found.status.state?.running;
  if (running == null) {
    const next = startsAgain(found.status, sight, status)
      ? ({ kind: 'wait', why: 'the container' } as const)
      : ({ kind: 'end' } as const);
    // One that was only just created is not to be killed for not running yet.
    const failed = kind === 'readiness' || found.status.state?.terminated != null;
    return { ...changes, ...(failed && { set: 'failure' }), next };
  }
  if (pod.metadata.deletionTimestamp != null && kind !== 'readiness') {
    return { ...changes, set: 'success', next: { kind: 'end' } };
  }
  const { initialDelayMs } = sight.times;
  const knownForMs = state.containerId === before.containerId ? sight.knownForMs : 0;
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
  const started = found.status.started === true || sight.startup(found.id) === 'success';
  if (kind === 'startup' && started) return { ...changes, next: { kind: 'wait', why: 'a new container' } };
  if (kind !== 'startup' && !started) return { ...changes, next: { kind: 'wait', why: 'the startup probe' } };
  if (sight.needsAddress && !status.podIP) return { ...changes, next: { kind: 'wait', why: "the pod's address" } };
  return { ...changes, next: PROBE };
}

/** R2: what a probe's result makes of what stands, by the thresholds. */
export function afterProbe(
  before: WorkerState,
  result: 'success' | 'failure',
  kind: ProbeKind,
  { successThreshold, failureThreshold }: Pick<ProbeTimes, 'successThreshold' | 'failureThreshold'>,
): { readonly state: WorkerState; readonly set?: 'success' | 'failure' } {
  const threshold = result === 'success' ? successThreshold : failureThreshold;
  // Nothing is counted beyond it: a probe that finds what stands leaves all as it is.
  const run = before.last === result ? Math.min(before.run + 1, threshold) : 1;
  const isSame = before.last === result && before.run === run;
  const state: WorkerState = isSame ? before : { ...before, last: result, run };
  if (run < threshold) return { state };
  // Not probed until its successor is there: it is stopped now, or it has started and need not be asked again.
  const holds = kind === 'startup' || (kind === 'liveness' && result === 'failure');
  return { state: holds ? { ...state, onHold: true } : state, set: result };
}

/** R2: a container that is another one than before starts afresh; one from before a kubelet's restart keeps what was known of it (S6). */
function onContainer(
  before: WorkerState,
  { id, status }: { readonly id: string; readonly status: ContainerStatus },
  { kind }: Sight,
): Pick<Decision, 'state' | 'forget' | 'set'> {
  const forget = before.containerId === '' ? {} : { forget: before.containerId };
  const state = { ...newWorkerState, containerId: id };
  if (kind === 'startup' && status.started === true) return { state, ...forget, set: 'success' };
  if (kind === 'readiness' && status.ready) return { state, ...forget };
  return { state, ...forget, set: INITIAL[kind] };
}

/** When the container of this name began to run, by the wall clock; `undefined` where it does not run. */
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

/** Of those with an id. Containers are looked at one by one, of which a pod may have thousands. */
const statusesByName = oncePer(({ containerStatuses, initContainerStatuses }: PodStatus) => {
  const byName = new Map<string, FoundStatus>();
  for (const status of [...(containerStatuses ?? []), ...(initContainerStatuses ?? [])]) {
    const id = bareContainerId(status.containerID);
    if (id !== '' && !byName.has(status.name)) byName.set(status.name, { id, status });
  }
  return byName;
});

function startsAgain(status: ContainerStatus, { pod, container, features }: Sight, podStatus: PodStatus): boolean {
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
