import {
  type AnyContainer,
  allContainers,
  type ContainerStatus,
  type Pod,
  podSource,
  podState,
} from '@node-agent/pod-spec';
import type { ContainerRow, PodRow } from '../wire.ts';
import { cut, known, timeOf } from './cut.ts';

const MAX_NAME = 260;
const MAX_IMAGE = 300;
const MAX_TEXT = 600;
const MAX_LABELS = 40;

/** Returns the row that the page shows for a pod. @param why the first cause why the pod is not in the desired state */
export function podRow(pod: Pod, why?: string): PodRow {
  const { metadata, status } = pod;
  const { ready, status: shown, restarts, isReady } = podState(pod);
  return known<PodRow>({
    uid: cut(metadata.uid, MAX_NAME),
    namespace: cut(metadata.namespace ?? '', MAX_NAME),
    name: cut(metadata.name, MAX_NAME),
    status: cut(shown, MAX_NAME),
    ...{ ready, isReady, restarts },
    startedAtMs: timeOf(status?.startTime) ?? timeOf(metadata.creationTimestamp),
    why: why === undefined ? undefined : cut(why, MAX_TEXT),
    ip: status?.podIP === undefined ? undefined : cut(status.podIP, MAX_NAME),
    source: podSource(pod),
    labels: Object.entries(metadata.labels ?? {})
      .slice(0, MAX_LABELS)
      .map(([name, value]) => [cut(name, MAX_IMAGE), cut(value, MAX_IMAGE)] as const),
    containers: containersOf(pod),
  });
}

function containersOf(pod: Pod): readonly ContainerRow[] {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = pod.status ?? {};
  const statuses = [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses];
  return [...allContainers(pod)].map(({ container, type }) =>
    containerRow(
      container,
      statuses.find(({ name }) => name === container.name),
      type,
    ),
  );
}

function containerRow(
  { name, image }: AnyContainer,
  status: ContainerStatus | undefined,
  kind: ContainerRow['kind'],
): ContainerRow {
  const { waiting, running, terminated } = status?.state ?? {};
  const found = terminated ?? running ?? waiting;
  const reason = (terminated ?? waiting)?.reason;
  const message = (terminated ?? waiting)?.message;
  return known<ContainerRow>({
    name: cut(name, MAX_NAME),
    kind,
    image: cut(image ?? '', MAX_IMAGE),
    state: terminated ? 'terminated' : running ? 'running' : waiting ? 'waiting' : 'unknown',
    reason: reason ? cut(reason, MAX_NAME) : undefined,
    message: message ? cut(message, MAX_TEXT) : undefined,
    ready: status?.ready ?? false,
    restarts: status?.restartCount ?? 0,
    sinceMs: found && timeOf(terminated?.finishedAt ?? running?.startedAt),
    exitCode: terminated?.exitCode,
    hasPrevious: status?.lastState?.terminated?.containerID !== undefined,
  });
}
