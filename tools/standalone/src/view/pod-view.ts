import type { Pod } from '@node-agent/pod-spec';

/** Displayed state of a container. */
interface ContainerView {
  readonly name: string;
  /** State, for example `running`, `waiting(CrashLoopBackOff)`, `exited(0)`. */
  readonly state: string;
}

/** Displayed state of a pod. */
export interface PodView {
  readonly uid: string;
  /** Name, prefixed with the namespace unless that is `default`. */
  readonly name: string;
  readonly phase: string;
  /** Ready containers among the sidecar and main containers, for example `1/2`. */
  readonly ready: string;
  /** Containers, without the init containers that have completed. */
  readonly containers: readonly ContainerView[];
  readonly restarts: number;
  readonly ip: string;
  readonly startedAtMs: number | undefined;
}

type ContainerStatus = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number];

/** Converts a pod from the kubelet's read-only port to its displayed state. */
export function podView({ metadata, spec, status }: Pod): PodView {
  const main = spec.containers.map(({ name }) => viewOf(name, find(status?.containerStatuses, name)));
  const restartable = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  const init = (spec.initContainers ?? []).flatMap(({ name, restartPolicy }) => {
    const found = find(status?.initContainerStatuses, name);
    const done = restartPolicy !== 'Always' && found?.state?.terminated?.exitCode === 0;
    return done ? [] : [viewOf(name, found)];
  });
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const lasting = [
    ...restartable.map(({ name }) => find(status?.initContainerStatuses, name)),
    ...spec.containers.map(({ name }) => find(status?.containerStatuses, name)),
  ];
  return {
    uid: metadata.uid,
    name: metadata.namespace === 'default' ? metadata.name : `${metadata.namespace}/${metadata.name}`,
    phase: status?.reason ? `${status.phase ?? 'Pending'}(${status.reason})` : (status?.phase ?? 'Pending'),
    ready: `${lasting.filter((container) => container?.ready).length}/${lasting.length}`,
    containers: [...init, ...main],
    restarts: all.reduce((sum, { restartCount }) => sum + (restartCount ?? 0), 0),
    ip: status?.podIP ?? '',
    startedAtMs: status?.startTime === undefined ? undefined : Date.parse(String(status.startTime)),
  };
}

function find(statuses: readonly ContainerStatus[] | undefined, name: string): ContainerStatus | undefined {
  return statuses?.find((status) => status.name === name);
}

function viewOf(name: string, status: ContainerStatus | undefined): ContainerView {
  const { waiting, running, terminated } = status?.state ?? {};
  if (running) return { name, state: 'running' };
  if (terminated) return { name, state: `exited(${terminated.exitCode})` };
  return { name, state: waiting?.reason ? `waiting(${waiting.reason})` : 'waiting' };
}

/** Returns whether the pod is running or has succeeded. */
export function isSettled({ phase }: PodView): boolean {
  return phase === 'Running' || phase === 'Succeeded';
}

/** Converts pods and sorts them by name. */
export function podViews(pods: readonly Pod[]): readonly PodView[] {
  return pods.map(podView).sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}
