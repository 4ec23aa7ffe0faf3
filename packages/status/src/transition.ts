import {
  type Container,
  type ContainerState,
  type ContainerStatus,
  canRestartAll,
  defaultRestartFeatures,
  isRestartableInit,
  isStaticPod,
  isTerminalPhase,
  type Pod,
  type PodCondition,
  type PodPhase,
  type PodStatus,
  type RestartFeatures,
  shouldRestartExited,
} from '@node-agent/pod-spec';
import { exited } from './exited.ts';
import { apiTime } from './time.ts';

/** Maximum total size of all termination messages of a pod, in bytes. */
const MESSAGES_LIMIT = 12 * 1024;
/** Maximum number of UTF-8 bytes per UTF-16 code unit. */
const MAX_CHARACTER_BYTES = 3;

/**
 * Returns the status that follows `old` after `wanted` was generated: the times of unchanged conditions and the start
 * time are kept, and messages are cut to the API's limit (`updateStatusInternal` in
 * `pkg/kubelet/status/status_manager.go`).
 * @param nowMs the wall clock
 */
export function nextStatus(pod: Pod, old: PodStatus | undefined, wanted: PodStatus, nowMs: number): PodStatus {
  const next = withSettledPhase(old, wanted);
  const now = apiTime(nowMs) ?? '';
  const startTime = old?.startTime ?? next.startTime ?? now;
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  const count = containers.length + initContainers.length + ephemeralContainers.length;
  const limit = Math.floor(MESSAGES_LIMIT / Math.max(count, 1));
  const cut = (statuses: readonly ContainerStatus[]): readonly ContainerStatus[] =>
    statuses.map((status) => withMessageLimit(status, limit));
  return {
    ...next,
    startTime,
    ...(next.conditions && { conditions: next.conditions.map((condition) => stamped(condition, old, now)) }),
    ...(next.containerStatuses && { containerStatuses: cut(next.containerStatuses) }),
    ...(next.initContainerStatuses && { initContainerStatuses: cut(next.initContainerStatuses) }),
    ...(next.ephemeralContainerStatuses && { ephemeralContainerStatuses: cut(next.ephemeralContainerStatuses) }),
  };
}

/** S1: keeps a terminal phase with its reason and message; all other fields are current. */
function withSettledPhase(old: PodStatus | undefined, next: PodStatus): PodStatus {
  if (old === undefined || !isTerminalPhase(old.phase) || next.phase === old.phase) return next;
  const { reason: _reason, message: _message, ...rest } = next;
  const { phase, reason, message } = old;
  return { ...rest, phase, ...(reason !== undefined && { reason }), ...(message !== undefined && { message }) };
}

function stamped(condition: PodCondition, old: PodStatus | undefined, now: string): PodCondition {
  if (condition.lastTransitionTime !== undefined) return condition;
  const before = old?.conditions?.find(({ type }) => type === condition.type);
  const same = before?.status === condition.status && before.lastTransitionTime !== undefined;
  return { ...condition, lastTransitionTime: same ? before.lastTransitionTime : now };
}

function withMessageLimit(status: ContainerStatus, limit: number): ContainerStatus {
  const cut = (state: ContainerState | undefined): ContainerState | undefined => {
    const message = state?.terminated?.message;
    if (state?.terminated == null || message === undefined || message.length <= limit / MAX_CHARACTER_BYTES)
      return state;
    return { ...state, terminated: { ...state.terminated, message: firstBytes(message, limit) } };
  };
  const state = cut(status.state);
  const lastState = cut(status.lastState);
  return { ...status, ...(state && { state }), ...(lastState && { lastState }) };
}

/** Returns the start of a text, cut between characters. */
function firstBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  let end = maxBytes;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

const PHASES: ReadonlySet<string> = new Set<PodPhase>(['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown']);

/** Returns the problem with the phase of a status; `undefined` if it is one of the API's phases or absent. */
export function phaseProblem({ phase }: PodStatus): string | undefined {
  if (phase === undefined || PHASES.has(phase)) return undefined;
  return `phase ${JSON.stringify(phase)} must be one of ${[...PHASES].join(', ')}`;
}

/**
 * Returns the problem with changing from one status to the next; `undefined` if the change is legal. A container that
 * terminated for good must not be shown in any other state afterwards, even if the runtime has lost its record (S1).
 */
export function illegalTransition(
  pod: Pod,
  old: PodStatus | undefined,
  next: PodStatus,
  features: RestartFeatures = defaultRestartFeatures,
): string | undefined {
  const [first] = illegalRestarts(pod, old, next, features);
  return first && `terminated ${first.kind} ${first.before.name} attempted illegal transition to non-terminated state`;
}

/**
 * Returns a terminal status in which containers that had terminated for good keep their previous state. The generated
 * status can differ if init containers had to run again in a new sandbox, or if the runtime has lost their records. The
 * pod's termination must be reported nevertheless (S1).
 */
export function withTerminatedStatuses(
  pod: Pod,
  old: PodStatus | undefined,
  ended: PodStatus,
  features: RestartFeatures = defaultRestartFeatures,
): PodStatus {
  const terminatedBefore = new Map(
    illegalRestarts(pod, old, ended, features).map(({ before }) => [before.name, before]),
  );
  const kept = (statuses: readonly ContainerStatus[]): readonly ContainerStatus[] =>
    statuses.map((status) => terminatedBefore.get(status.name) ?? status);
  const { containerStatuses: main, initContainerStatuses: init } = ended;
  return {
    ...ended,
    ...(main && { containerStatuses: kept(main) }),
    ...(init && { initContainerStatuses: kept(init) }),
  };
}

/** A container that terminated for good and is shown in another state afterwards. */
interface IllegalRestart {
  readonly kind: 'container' | 'init container';
  /** Status with which the container had terminated. */
  readonly before: ContainerStatus;
}

function illegalRestarts(
  pod: Pod,
  old: PodStatus | undefined,
  next: PodStatus,
  features: RestartFeatures,
): readonly IllegalRestart[] {
  const { restartPolicy = 'Always', containers, initContainers = [] } = pod.spec;
  // If all containers can be restarted, containers that terminated for good restart too.
  if (restartPolicy === 'Always' || canRestartAll(pod, features)) return [];
  const among = (
    kind: IllegalRestart['kind'],
    some: readonly Container[],
    earlier: readonly ContainerStatus[] = [],
    later: readonly ContainerStatus[] = [],
  ): readonly IllegalRestart[] =>
    some.flatMap((container) => {
      const before = earlier.find(({ name }) => name === container.name);
      const end = before?.state?.terminated;
      const now = later.find(({ name }) => name === container.name);
      if (before === undefined || end == null || now === undefined || now.state?.terminated != null) return [];
      return shouldRestartExited(pod, container, exited(end), features) ? [] : [{ kind, before }];
    });
  // Until a main container has run, a new sandbox makes all init containers run again.
  const once = hasRun(old) ? initContainers.filter((container) => !isRestartableInit(container)) : [];
  return [
    ...among('container', containers, old?.containerStatuses, next.containerStatuses),
    ...among('init container', once, old?.initContainerStatuses, next.initContainerStatuses),
  ];
}

/** Returns whether a main container is shown as terminated and its pod does not restart it. */
export function hasEndedForGood(
  pod: Pod,
  { name, state }: ContainerStatus,
  features: RestartFeatures = defaultRestartFeatures,
): boolean {
  const end = state?.terminated;
  const container = pod.spec.containers.find((one) => one.name === name);
  return end != null && container !== undefined && !shouldRestartExited(pod, container, exited(end), features);
}

function hasRun(status: PodStatus | undefined): boolean {
  return (status?.containerStatuses ?? []).some(
    ({ state, lastState }) => state?.running != null || state?.terminated != null || lastState?.terminated != null,
  );
}

/**
 * Returns the last status of a pod that no longer exists: containers whose termination was not observed count as
 * failed, and so does an API pod without a terminal phase (`TerminatePod`).
 * @param before status from before the containers were stopped. Default: `status`. The status shows whether the pod was
 * initialized: an init container that exits successfully only because it was stopped does not initialize the pod
 */
export function terminatedStatus(pod: Pod, status: PodStatus, before: PodStatus = status): PodStatus {
  const { containerStatuses: main = [], initContainerStatuses: init = [] } = status;
  // Init containers after the last one with a sign of having run never ran. The first init container is assumed to have
  // run.
  const ran = Math.max(0, init.findLastIndex(hasRunBefore));
  return {
    ...status,
    ...(status.containerStatuses && {
      containerStatuses: hasInitialized(pod, before) ? main.map(withTermination) : main,
    }),
    ...(status.initContainerStatuses && {
      initContainerStatuses: init.map((container, index) => (index <= ran ? withTermination(container) : container)),
    }),
    ...(!isStaticPod(pod) && !isTerminalPhase(status.phase) && { phase: 'Failed' }),
  };
}

/**
 * Returns whether the pod had reached the start of its main containers. If so, a main container that was never started
 * counts as failed.
 */
function hasInitialized(
  pod: Pod,
  { containerStatuses: main = [], initContainerStatuses: init = [] }: PodStatus,
): boolean {
  const last = pod.spec.initContainers?.at(-1);
  if (last === undefined || main.some(hasRunBefore)) return true;
  const { state, lastState, started } = init.find(({ name }) => name === last.name) ?? {};
  if (isRestartableInit(last)) return state?.running != null && started === true;
  return [state, lastState].some((one) => one?.terminated?.exitCode === 0);
}

function hasRunBefore({ state, lastState }: ContainerStatus): boolean {
  return state?.waiting == null || lastState?.terminated != null;
}

/**
 * Returns the status of a container as terminated. A container that waits for its restart terminated as its last run
 * did, even if the runtime has dropped that record.
 */
function withTermination(status: ContainerStatus): ContainerStatus {
  if (status.state?.terminated != null) return status;
  const last = status.state?.waiting == null ? undefined : status.lastState?.terminated;
  if (last != null) return { ...status, state: { terminated: last } };
  const message = 'The container could not be located when the pod was terminated';
  return { ...status, state: { terminated: { reason: 'ContainerStatusUnknown', message, exitCode: 137 } } };
}
