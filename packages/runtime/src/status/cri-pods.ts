import { type Clock, systemClock } from '@node-agent/async';
import { ContainerEventType, type RuntimeService } from '@node-agent/cri-client';
import { type FileSystem, nodeFileSystem } from '@node-agent/host';
import type { RuntimePod, RuntimePodStatus } from '@node-agent/pod-spec';
import { PodStatusReader } from './pod-status-reader.ts';
import { toRuntimePods } from './runtime-pods.ts';
import { criTimeMs } from './status.ts';

/** CRI calls that are needed to read pods. */
export type PodCalls = Pick<
  RuntimeService,
  'listPodSandbox' | 'podSandboxStatus' | 'listContainers' | 'containerStatus' | 'getContainerEvents'
>;

/** Read-only view of a runtime's pods, as `@node-agent/pleg` needs it. */
export interface CriPods {
  /**
   * Returns all pods that have any container or sandbox in the runtime, including dead ones; newest first.
   * @throws CriError
   */
  getPods(signal?: AbortSignal): Promise<RuntimePod[]>;
  /**
   * Returns the complete runtime status of one pod, including dead containers with their termination messages.
   * @param name '' if unknown; the result then has the name of the sandbox
   * @throws CriError
   * @throws PodRuntimeError `BadAnswer`
   */
  getPodStatus(uid: string, name: string, namespace: string, signal?: AbortSignal): Promise<RuntimePodStatus>;
  /**
   * Yields runtime events from now on. Ends or throws when the stream is lost.
   * @throws CriError `UNIMPLEMENTED` if the runtime has no events
   */
  containerEvents(signal: AbortSignal): AsyncGenerator<ContainerNews, void, undefined>;
}

/**
 * Creates a read-only view of a runtime's pods through CRI: `new Pleg({ runtime: criPods(cri), cache })`. A
 * `PodRuntime` reads pods itself and does not need this view.
 * @param components clock, and file system for termination messages. Default: those of the machine
 */
export function criPods(
  cri: PodCalls,
  {
    clock = systemClock,
    fs = nodeFileSystem,
  }: { readonly clock?: Pick<Clock, 'monotonic'>; readonly fs?: Pick<FileSystem, 'open' | 'openBeneath'> } = {},
): CriPods {
  const reader = new PodStatusReader({ cri, clock, fs });
  /** UIDs of the pods that the reader may have cached. */
  let known = new Set<string>();
  return {
    async getPods(signal) {
      const pods = await listPods(cri, reader, signal);
      const listed = new Set(pods.map(({ uid }) => uid));
      for (const uid of known) if (!listed.has(uid)) reader.forget(uid);
      known = listed;
      return pods;
    },
    getPodStatus(uid, name, namespace, signal) {
      known.add(uid);
      return reader.read(uid, name, namespace, signal);
    },
    containerEvents: (signal) => containerNews(cri, reader, signal),
  };
}

/**
 * Lists all pods that have any container or sandbox in the runtime, newest first, and records in the reader which pods
 * a list by label shows incompletely.
 */
export async function listPods(
  cri: Pick<RuntimeService, 'listPodSandbox' | 'listContainers'>,
  reader: Pick<PodStatusReader, 'listed'>,
  signal?: AbortSignal,
): Promise<RuntimePod[]> {
  const [{ items }, { containers }] = await Promise.all([
    cri.listPodSandbox({}, signal),
    cri.listContainers({}, signal),
  ]);
  reader.listed(items, containers);
  return toRuntimePods(items, containers);
}

const EVENT_KINDS: Readonly<Record<number, ContainerNews['kind']>> = {
  [ContainerEventType.CONTAINER_CREATED_EVENT]: 'created',
  [ContainerEventType.CONTAINER_STARTED_EVENT]: 'started',
  [ContainerEventType.CONTAINER_STOPPED_EVENT]: 'stopped',
  [ContainerEventType.CONTAINER_DELETED_EVENT]: 'deleted',
};

/**
 * Yields runtime events with the pod that each concerns, and records in the reader which pods a list by label shows
 * incompletely. Ends or throws when the stream is lost.
 */
export async function* containerNews(
  cri: Pick<RuntimeService, 'getContainerEvents'>,
  reader: Pick<PodStatusReader, 'eventReceived'>,
  signal: AbortSignal,
): AsyncGenerator<ContainerNews, void, undefined> {
  for await (const event of cri.getContainerEvents({}, signal)) {
    const { podSandboxStatus, createdAt, containerEventType, containerId } = event;
    const metadata = podSandboxStatus?.metadata;
    if (!podSandboxStatus || !metadata?.uid) continue;
    reader.eventReceived(podSandboxStatus);
    const { uid: podUid, name: podName, namespace: podNamespace } = metadata;
    const kind = EVENT_KINDS[containerEventType];
    yield { podUid, podName, podNamespace, kind, containerId, createdAtMs: criTimeMs(createdAt) };
  }
}

/** An event of a pod in the runtime. */
export interface ContainerNews {
  readonly podUid: string;
  /** Kind of the event of a container or sandbox; `undefined` for an unknown kind. */
  readonly kind: 'created' | 'started' | 'stopped' | 'deleted' | undefined;
  /** ID of the container or sandbox; '' if the runtime does not report it. */
  readonly containerId: string;
  readonly podName: string;
  readonly podNamespace: string;
  /** Time of the event, by the runtime's wall clock. */
  readonly createdAtMs: number;
}
