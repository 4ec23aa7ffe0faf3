import type { ContainerStatus, Pod, PodStatus } from '@node-agent/pod-spec';
import type { Json } from './differences.ts';

/** What of an event is told to people. */
export interface TellingEvent {
  readonly involvedObject: { readonly name?: string; readonly fieldPath?: string };
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** A pod's status, with its conditions by type; of containers that loop, what is not chance. */
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

/** A pull that has just failed is soon one that is waited for: both are told as the former. */
function ofPull(container: ContainerStatus): ContainerStatus {
  const { reason, message = '' } = container.state?.waiting ?? {};
  if (reason !== 'ImagePullBackOff') return container;
  const failure = message.replace(/^Back-off pulling image "[^"]+": ErrImagePull: /, '');
  return { ...container, state: { waiting: { reason: 'ErrImagePull', message: failure } } };
}

/** The events of each object: `type reason: message`, sorted, each once, as how often depends on time. */
export function eventsOf(events: readonly TellingEvent[]): ReadonlyMap<string, readonly string[]> {
  const byObject = new Map<string, Set<string>>();
  for (const { involvedObject, type, reason, message } of events) {
    const { name = '', fieldPath = '' } = involvedObject;
    const lines = byObject.get(name) ?? new Set();
    byObject.set(name, lines.add(`${fieldPath}${fieldPath && ' '}${type} ${reason}: ${message}`));
  }
  return new Map([...byObject].map(([name, lines]) => [name, [...lines].sort()]));
}

/** What one side says that the other does not, as documents that differ in just that. */
export function told(lines: readonly string[]): Json {
  return Object.fromEntries(lines.map((line) => [line, true]));
}

/** What of a pod was asked for and came back, as JSON has it. */
export function plain(value: unknown): Json {
  return JSON.parse(JSON.stringify(value) ?? 'null');
}

/** Pods by name. */
export function byName(pods: readonly Pod[]): ReadonlyMap<string, Pod> {
  return new Map(pods.map((pod) => [pod.metadata.name, pod]));
}

const NOT_YET = /^(ContainerCreating|PodInitializing)$/;

/** Whether each container of a pod runs, has ended, or waits for what it cannot have; or an init container does, that the others wait for. */
export function hasBegun({ spec, status = {} }: Pod): boolean {
  const isOnItsWay = ({ state }: ContainerStatus): boolean =>
    state?.waiting != null && NOT_YET.test(state.waiting.reason ?? 'ContainerCreating');
  const { containerStatuses: main = [], initContainerStatuses: init = [] } = status;
  if (main.length > 0 && !main.some(isOnItsWay)) return true;
  return init.some((container) => {
    if (container.state?.waiting != null) return !isOnItsWay(container);
    const stays = spec.initContainers?.find(({ name }) => name === container.name)?.restartPolicy === 'Always';
    return container.state?.running != null && !stays;
  });
}
