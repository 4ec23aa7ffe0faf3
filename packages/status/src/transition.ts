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

/** All termination messages of a pod together are no longer than this, in bytes. */
const MESSAGES_LIMIT = 12 * 1024;
/** So many bytes at most stand for what a string counts as one. */
const MAX_CHARACTER_BYTES = 3;

/**
 * The status that follows `old` when `wanted` is generated: the times of conditions that did not change are kept, as is
 * the start time, and messages are cut to what the API takes (`updateStatusInternal` in
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

/** S1: a terminal phase stays, with its reason and message; all else is as it is now. */
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

/** The beginning of a text, without a character that is cut. */
function firstBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  let end = maxBytes;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

const PHASES: ReadonlySet<string> = new Set<PodPhase>(['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown']);

/** What is wrong with the phase of a status; `undefined` where it has one of the API's, or none. */
export function phaseProblem({ phase }: PodStatus): string | undefined {
  if (phase === undefined || PHASES.has(phase)) return undefined;
  return `phase ${JSON.stringify(phase)} is none of ${[...PHASES].join(', ')}`;
}

/**
 * What is wrong with going from one status to the next; `undefined` where nothing is: a container that ended for good
 * must not be shown as anything else afterwards, though the runtime may have lost its record (S1).
 */
export function illegalTransition(
  pod: Pod,
  old: PodStatus | undefined,
  next: PodStatus,
  features: RestartFeatures = defaultRestartFeatures,
): string | undefined {
  const [first] = revived(pod, old, next, features);
  return first && `terminated ${first.kind} ${first.former.name} attempted illegal transition to non-terminated state`;
}

/**
 * How a pod has ended, with those of its containers as they had ended that cannot be as it says: a new sandbox was to begin init
 * containers anew, or the runtime has lost their records. The end of the pod is not lost with them (S1).
 */
export function withFormerEnds(
  pod: Pod,
  old: PodStatus | undefined,
  ended: PodStatus,
  features: RestartFeatures = defaultRestartFeatures,
): PodStatus {
  const formers = new Map(revived(pod, old, ended, features).map(({ former }) => [former.name, former]));
  const kept = (statuses: readonly ContainerStatus[]): readonly ContainerStatus[] =>
    statuses.map((status) => formers.get(status.name) ?? status);
  const { containerStatuses: main, initContainerStatuses: init } = ended;
  return {
    ...ended,
    ...(main && { containerStatuses: kept(main) }),
    ...(init && { initContainerStatuses: kept(init) }),
  };
}

/** A container that ended for good, and is shown as something else afterwards. */
interface Revived {
  readonly kind: 'container' | 'init container';
  /** How it had ended. */
  readonly former: ContainerStatus;
}

function revived(pod: Pod, old: PodStatus | undefined, next: PodStatus, features: RestartFeatures): readonly Revived[] {
  const { restartPolicy = 'Always', containers, initContainers = [] } = pod.spec;
  // What ended for good begins anew too, where all containers do.
  if (restartPolicy === 'Always' || canRestartAll(pod, features)) return [];
  const among = (
    kind: Revived['kind'],
    some: readonly Container[],
    before: readonly ContainerStatus[] = [],
    after: readonly ContainerStatus[] = [],
  ): readonly Revived[] =>
    some.flatMap((container) => {
      const former = before.find(({ name }) => name === container.name);
      const end = former?.state?.terminated;
      const now = after.find(({ name }) => name === container.name);
      if (former === undefined || end == null || now === undefined || now.state?.terminated != null) return [];
      return shouldRestartExited(pod, container, exited(end), features) ? [] : [{ kind, former }];
    });
  // Until a main container has run, a new sandbox makes all init containers run again.
  const once = hasRun(old) ? initContainers.filter((container) => !isRestartableInit(container)) : [];
  return [
    ...among('container', containers, old?.containerStatuses, next.containerStatuses),
    ...among('init container', once, old?.initContainerStatuses, next.initContainerStatuses),
  ];
}

/** Whether a main container is shown as ended, and its pod does not run it again. */
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
 * The last status of a pod that is gone: whatever was not seen to end counts as failed, and so does a pod of the API
 * that has no terminal phase yet (`TerminatePod`).
 * @param before what was told of it before its containers were ended: an init container that ends well for being told to has not made
 *   its pod ready for the others. What is told now where absent
 */
export function terminatedStatus(pod: Pod, status: PodStatus, before: PodStatus = status): PodStatus {
  const { containerStatuses: main = [], initContainerStatuses: init = [] } = status;
  // Init containers after the last one that shows any sign of having run never ran; the first one is taken to have.
  const ran = Math.max(0, init.findLastIndex(showsThatItRan));
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

/** Whether the main containers were to be started: then one that never was counts as failed. */
function hasInitialized(
  pod: Pod,
  { containerStatuses: main = [], initContainerStatuses: init = [] }: PodStatus,
): boolean {
  const last = pod.spec.initContainers?.at(-1);
  if (last === undefined || main.some(showsThatItRan)) return true;
  const { state, lastState, started } = init.find(({ name }) => name === last.name) ?? {};
  if (isRestartableInit(last)) return state?.running != null && started === true;
  return [state, lastState].some((one) => one?.terminated?.exitCode === 0);
}

function showsThatItRan({ state, lastState }: ContainerStatus): boolean {
  return state?.waiting == null || lastState?.terminated != null;
}

/** A container that waits to run again has ended as its last run did, though the runtime may have dropped that record. */
function withTermination(status: ContainerStatus): ContainerStatus {
  if (status.state?.terminated != null) return status;
  const last = status.state?.waiting == null ? undefined : status.lastState?.terminated;
  if (last != null) return { ...status, state: { terminated: last } };
  const message = 'The container could not be located when the pod was terminated';
  return { ...status, state: { terminated: { reason: 'ContainerStatusUnknown', message, exitCode: 137 } } };
}
