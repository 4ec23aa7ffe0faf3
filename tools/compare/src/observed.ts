import type { ContainerStatus, Pod, PodStatus } from '@node-agent/pod-spec';
import type { Json } from './differences.ts';

/** Fields of an event that are compared. */
export interface EventFields {
  readonly involvedObject: { readonly name?: string; readonly fieldPath?: string };
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
}

/**
 * Returns a pod's status with its conditions keyed by type. For the containers in `loops`, only values that do not
 * depend on timing are kept.
 */
export function statusOf(status: PodStatus | undefined, loops: readonly string[] = []): Json {
  const { conditions = [], initContainerStatuses, containerStatuses, ...rest } = status ?? {};
  const kept = loops.length === 0 ? conditions : conditions.filter(({ type }) => !/Ready$|Initialized/.test(type));
  const settled = (statuses: readonly ContainerStatus[]) =>
    statuses.map((container) => (loops.includes(container.name) ? ofLoop(container) : ofPull(container)));
  return plain({
    ...rest,
    order: kept.map(({ type }) => type).join(),
    conditions: Object.fromEntries(kept.map((condition) => [condition.type, condition])),
    ...(initContainerStatuses && { initContainerStatuses: settled(initContainerStatuses) }),
    ...(containerStatuses && { containerStatuses: settled(containerStatuses) }),
  });
}

function ofLoop({ state, lastState, restartCount, ready, started, ...rest }: ContainerStatus) {
  const { exitCode, reason } = lastState?.terminated ?? state?.terminated ?? {};
  return { ...rest, ended: { exitCode, reason }, restarts: restartCount > 0 };
}

/** A failed pull soon becomes a back-off. Both states are shown as the failed pull. */
function ofPull(container: ContainerStatus): ContainerStatus {
  const { reason, message = '' } = container.state?.waiting ?? {};
  if (reason !== 'ImagePullBackOff') return container;
  const failure = message.replace(/^Back-off pulling image "[^"]+": ErrImagePull: /, '');
  return { ...container, state: { waiting: { reason: 'ErrImagePull', message: failure } } };
}

/**
 * Returns the events per object as sorted lines `type reason: message`. Repeated events are kept once, because their
 * number depends on timing.
 */
export function eventsOf(events: readonly EventFields[]): ReadonlyMap<string, readonly string[]> {
  const byObject = new Map<string, Set<string>>();
  for (const { involvedObject, type, reason, message } of events) {
    const { name = '', fieldPath = '' } = involvedObject;
    const lines = byObject.get(name) ?? new Set();
    byObject.set(name, lines.add(`${fieldPath}${fieldPath && ' '}${type} ${reason}: ${message}`));
  }
  return new Map([...byObject].map(([name, lines]) => [name, [...lines].sort()]));
}

/** Converts lines to an object whose keys are the lines, so that a missing line is a difference of one key. */
export function asKeys(lines: readonly string[]): Json {
  return Object.fromEntries(lines.map((line) => [line, true]));
}

/** Converts a value to plain JSON; undefined fields are dropped. */
export function plain(value: unknown): Json {
  return JSON.parse(JSON.stringify(value) ?? 'null');
}

/** Returns the pods by name. */
export function byName(pods: readonly Pod[]): ReadonlyMap<string, Pod> {
  return new Map(pods.map((pod) => [pod.metadata.name, pod]));
}

const STARTING = /^(ContainerCreating|PodInitializing)$/;

/**
 * Reports whether a pod has started: each container runs, has terminated, or waits for something that it cannot get. A
 * pod has also started if one of its init containers is in such a state and blocks the other containers.
 */
export function hasStarted({ spec, status = {} }: Pod): boolean {
  const isStarting = ({ state }: ContainerStatus): boolean =>
    state?.waiting != null && STARTING.test(state.waiting.reason ?? 'ContainerCreating');
  const { containerStatuses: main = [], initContainerStatuses: init = [] } = status;
  if (main.length > 0 && !main.some(isStarting)) return true;
  return init.some((container) => {
    if (container.state?.waiting != null) return !isStarting(container);
    const stays = spec.initContainers?.find(({ name }) => name === container.name)?.restartPolicy === 'Always';
    return container.state?.running != null && !stays;
  });
}
