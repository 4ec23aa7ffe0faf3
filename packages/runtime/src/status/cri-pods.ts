import { type Clock, systemClock } from '@node-agent/async';
import { ContainerEventType, type RuntimeService } from '@node-agent/cri-client';
import { type FileSystem, nodeFileSystem } from '@node-agent/host';
import type { RuntimePod, RuntimePodStatus } from '@node-agent/pod-spec';
import { PodStatusReader } from './pod-status-reader.ts';
import { toRuntimePods } from './runtime-pods.ts';
import { criTimeMs } from './status.ts';

/** The calls of a runtime that reading its pods takes. */
export type PodCalls = Pick<
  RuntimeService,
  'listPodSandbox' | 'podSandboxStatus' | 'listContainers' | 'containerStatus' | 'getContainerEvents'
>;

/** The pods of a container runtime, for reading alone: what `@node-agent/pleg` asks for. */
export interface CriPods {
  /** All pods of which the runtime has anything left, dead parts included; the newest first. @throws CriError */
  getPods(signal?: AbortSignal): Promise<RuntimePod[]>;
  /**
   * All that the runtime knows of one pod, dead containers with their termination messages.
   * @param name '' where it is not known: the answer has the sandbox's then
   * @throws CriError, and PodRuntimeError `BadAnswer`
   */
  getPodStatus(uid: string, name: string, namespace: string, signal?: AbortSignal): Promise<RuntimePodStatus>;
  /**
   * News of the runtime, from now on. Ends or throws when the stream is lost.
   * @throws CriError `UNIMPLEMENTED` where the runtime has no events
   */
  containerEvents(signal: AbortSignal): AsyncGenerator<ContainerNews, void, undefined>;
}

/**
 * Reads the pods of a runtime by its CRI: `new Pleg({ runtime: criPods(cri), cache })`. It starts and changes nothing; a whole
 * `PodRuntime` reads by itself.
 * @param components the machine's clock, and its files for termination messages, where absent
 */
export function criPods(
  cri: PodCalls,
  {
    clock = systemClock,
    fs = nodeFileSystem,
  }: { readonly clock?: Pick<Clock, 'monotonic'>; readonly fs?: Pick<FileSystem, 'open' | 'openBeneath'> } = {},
): CriPods {
  const reader = new PodStatusReader({ cri, clock, fs });
  /** Pods of which the reader may remember something. */
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

/** All pods of which the runtime has anything left, the newest first; the reader learns what no label tells it. */
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

/** The runtime's news: which pod something happened to; the reader learns what no label tells it. Ends or throws when the stream is lost. */
export async function* containerNews(
  cri: Pick<RuntimeService, 'getContainerEvents'>,
  reader: Pick<PodStatusReader, 'told'>,
  signal: AbortSignal,
): AsyncGenerator<ContainerNews, void, undefined> {
  for await (const event of cri.getContainerEvents({}, signal)) {
    const { podSandboxStatus, createdAt, containerEventType, containerId } = event;
    const metadata = podSandboxStatus?.metadata;
    if (!podSandboxStatus || !metadata?.uid) continue;
    reader.told(podSandboxStatus);
    const { uid: podUid, name: podName, namespace: podNamespace } = metadata;
    const kind = EVENT_KINDS[containerEventType];
    yield { podUid, podName, podNamespace, kind, containerId, createdAtMs: criTimeMs(createdAt) };
  }
}

/** Something happened to a pod in the runtime. */
export interface ContainerNews {
  readonly podUid: string;
  /** What happened to a container or sandbox of it; `undefined` where the runtime says something unknown. */
  readonly kind: 'created' | 'started' | 'stopped' | 'deleted' | undefined;
  /** Which container or sandbox; '' where the runtime does not say. */
  readonly containerId: string;
  readonly podName: string;
  readonly podNamespace: string;
  /** By the runtime's wall clock. */
  readonly createdAtMs: number;
}
