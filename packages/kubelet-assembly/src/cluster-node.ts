import { TaskGroup, withTimeout } from '@node-agent/async';
import type { DeviceManager } from '@node-agent/device-manager';
import { fieldSelector, Reflector, resources, type WatchedObjects } from '@node-agent/kube-client';
import type { BackgroundService, KubeletView, PodJournalPort } from '@node-agent/kubelet-core';
import { type Node, NodeLease, NodeStatusManager, restLeaseClient, restNodeClient } from '@node-agent/node-status';
import { ApiSource } from '@node-agent/pod-config';
import { MirrorPods, type MirrorPodsComponents } from '@node-agent/pod-manager';
import { podFullName } from '@node-agent/pod-spec';
import {
  type PodDeletionSafety,
  restStatusApi,
  type StatusPods,
  type StatusSource,
  StatusWriter,
} from '@node-agent/status';
import type { Logger } from '@node-agent/telemetry';
import type { VolumeManager } from '@node-agent/volumes';
import type { ClusterPorts, ClusterSettings, PartComponents } from './cluster-ports.ts';
import { newerNode } from './newer-node.ts';
import { followNode } from './node-changes.ts';
import type { NodeState } from './node-state.ts';
import { notedStatusApi } from './noted-work.ts';
import type { PodSourcePort } from './ports.ts';
import type { RuntimeFacts } from './runtime-facts.ts';

/** Maximum time for which new pods wait for a read of the Node object, in milliseconds. */
const READ_TIMEOUT_MS = 5_000;

/** Components of the node that the components for the API server need besides ports and settings. */
export interface NodeParts {
  readonly journal: PodJournalPort;
  readonly statuses: StatusSource;
  readonly pods: StatusPods & MirrorPodsComponents['pods'] & { translatePodUid(uid: string): string };
  readonly safety: PodDeletionSafety;
  readonly mirrors: Pick<MirrorPodsComponents, 'isTerminating' | 'sourcesReady'>;
  readonly runtime: RuntimeFacts;
  readonly kubelet: () => Pick<KubeletView, 'updateRuntimeUp'>;
  /** Devices of the node. `undefined` if the node has no devices. */
  readonly devices: Pick<DeviceManager, 'resources' | 'reported' | 'isNewNode'> | undefined;
  readonly volumes: Pick<VolumeManager, 'volumesInUse' | 'volumesReported' | 'attachmentsChanged'>;
  /** Reports why the node is not ready, and the resources that the node is short of. */
  readonly state: Pick<NodeState, 'readiness' | 'pressure'>;
  /** Called with the node's range of pod addresses when the cluster has assigned one. */
  readonly onPodCidr: (cidr: string, signal: AbortSignal) => Promise<void>;
  /** Called when the API server has just responded. */
  readonly onServerHeard: () => void;
  /**
   * Called when the API server does not know this node. All watched data may then come from a store that the API server
   * has lost.
   */
  readonly onStoreLost: () => void;
}

/**
 * The node in its cluster. Receives the pods bound to the node from the API server. Sends the statuses of these pods,
 * the node's own status and the node's lease.
 */
export class ClusterNode {
  readonly podSource: PodSourcePort;
  readonly statusWriter: StatusWriter;
  readonly mirrorPods: MirrorPods;
  /** Services that run alongside the sync loop. */
  readonly services: readonly BackgroundService[];
  readonly #nodeStatus: NodeStatusManager;
  readonly #node: WatchedObjects<Node>;
  readonly #readNode: (signal: AbortSignal) => Promise<Node>;
  readonly #logger: Logger;
  /** Node object last read by {@link refresh}. */
  #fresh: Node | undefined;

  constructor(
    child: (component: string) => PartComponents,
    ports: ClusterPorts,
    settings: ClusterSettings & { readonly nodeName: string },
    parts: NodeParts,
  ) {
    const { requests: client, heartbeats, onAddresses, watched } = ports;
    const { nodeName } = settings;
    const pods =
      watched?.pods ??
      new Reflector(
        { ...child('pod-watch'), client },
        { resource: resources.pods, fieldSelector: fieldSelector({ 'spec.nodeName': nodeName }) },
      );
    const node =
      watched?.node ??
      new Reflector<Node>(
        { ...child('node-watch'), client },
        { resource: resources.nodes, fieldSelector: fieldSelector({ 'metadata.name': nodeName }) },
      );
    this.#node = node;
    const { clock, logger } = child('node');
    this.#logger = logger;
    this.#readNode = (signal) =>
      withTimeout(clock, READ_TIMEOUT_MS, (limit) => client.get(resources.nodes, { name: nodeName }, limit), signal);
    this.podSource = {
      name: 'api',
      make: (set) => {
        const nodeSynced = (signal: AbortSignal): Promise<void> => node.waitForSync(signal);
        const source = new ApiSource({ ...child('pod-source'), feed: pods, set, nodeSynced });
        return { start: (signal) => together(signal, [pods, source]) };
      },
    };
    const api = notedStatusApi(restStatusApi(client), parts.journal, (uid) => parts.pods.translatePodUid(uid));
    this.statusWriter = new StatusWriter({
      ...child('status-writer'),
      ...parts,
      api,
      replaceMirrorPod: (pod, mirrorUid) => this.mirrorPods.replace(podFullName(pod), mirrorUid),
    });
    this.mirrorPods = new MirrorPods({
      ...child('mirror-pods'),
      ...parts.mirrors,
      pods: parts.pods,
      node: () => this.node,
      api: {
        createPod: (pod, signal) => client.create(resources.pods, pod, {}, signal),
        deletePod: (namespace, name, uid, signal) =>
          client.delete(resources.pods, { namespace, name, preconditions: { uid }, gracePeriodSeconds: 0 }, signal),
      },
    });

    const { devices, volumes } = parts;
    const nodes = restNodeClient(heartbeats, (name) => node.objects.get(name));
    const onRepeatedHeartbeatFailure = (): void => ports.closeConnections?.();
    // The watches must list again: a watch that continues at a resource version of the lost store would receive no
    // events of the current store.
    const listAnew = (): void => {
      pods.listAnew();
      node.listAnew();
      parts.onStoreLost();
    };
    this.#nodeStatus = new NodeStatusManager(
      {
        ...child('node-status'),
        nodes,
        onRepeatedHeartbeatFailure,
        onPodCidr: parts.onPodCidr,
        onVolumesReported: (names) => volumes.volumesReported(names),
        ...(devices && { onDevicesReported: (removed: readonly string[]) => devices.reported(removed) }),
        // The API server's store may have been lost between the first list and the creation of the Node. The missing
        // Node object is then the only sign of the loss.
        onCreated: listAnew,
        sources: {
          ...ports.machine,
          runtimeVersion: (signal) => parts.runtime.version(signal),
          images: (signal) => parts.runtime.images(signal),
          checkRuntime: (signal) => parts.kubelet().updateRuntimeUp(signal),
          readiness: () => parts.state.readiness(),
          pressure: () => parts.state.pressure(),
          ...(devices && { devicePlugins: () => devices.resources() }),
          runtimeHandlers: () => parts.runtime.handlers(),
          runtimeFeatures: () => parts.runtime.features(),
          volumesInUse: () => volumes.volumesInUse(),
        },
      },
      { ...settings.node, ...(devices && { resetExtendedResources: () => devices.isNewNode() }), nodeName },
    );
    // The API server has responded, so requests that wait for a retry are retried immediately.
    const onHeard = (): void => {
      pods.retryNow();
      node.retryNow();
      parts.onServerHeard();
    };
    const lease = new NodeLease(
      {
        ...child('node-lease'),
        leases: restLeaseClient(heartbeats),
        nodes,
        onRepeatedHeartbeatFailure,
        onRenewed: onHeard,
        // If the Node is missing, either the API server's store was lost or the node was deleted.
        onNodeMissing: () => {
          listAnew();
          this.#nodeStatus.registerAgain();
        },
      },
      { nodeName, leaseDurationSeconds: settings.leaseDurationSeconds },
    );
    // Ready is Unknown if the cluster considers the node lost, so the status is sent immediately.
    const onUnknown = (): void => this.#nodeStatus.wake();
    const onNode = (): void => volumes.attachmentsChanged();
    this.services = [
      { name: 'node watch', start: (signal) => node.start(signal) },
      { name: 'node changes', start: (signal) => followNode(node, { onAddresses, onUnknown, onNode }, signal) },
      { name: 'status writer', start: (signal) => this.statusWriter.start(signal) },
      { name: 'mirror pods', start: (signal) => this.mirrorPods.start(signal) },
      { name: 'node status', start: (signal) => this.#nodeStatus.start(signal) },
      { name: 'node lease', start: (signal) => lease.start(signal) },
    ];
  }

  /** Newest known Node object, from the watch, a read or the registration. `undefined` if no Node object is known. */
  get node(): Node | undefined {
    const [watched] = this.#node.objects.values();
    return newerNode(watched, this.#fresh) ?? this.#nodeStatus.node;
  }

  /**
   * Returns the volumes that a controller has attached to this node, according to the newest known Node object (at
   * least as new as the last written status). Returns `undefined` until the Node is known.
   */
  attachedVolumes(): readonly string[] | undefined {
    return this.#attached()?.map(({ name }) => name);
  }

  /**
   * Returns the device path of an attached volume as the controller has reported the path in the Node, or `undefined`.
   */
  devicePath(uniqueName: string): string | undefined {
    return this.#attached()?.find(({ name }) => name === uniqueName)?.devicePath;
  }

  #attached(): NonNullable<Node['status']>['volumesAttached'] {
    const written = this.#nodeStatus.node;
    const node = newerNode(this.node, written) ?? written;
    return node && (node.status?.volumesAttached ?? []);
  }

  /** Changes the number of pods that the node reports. */
  setPodLimits(limits: Parameters<NodeStatusManager['setPodLimits']>[0]): void {
    this.#nodeStatus.setPodLimits(limits);
  }

  /** Wakes the writer of the node's status. Called when a part of the status has changed. */
  statusChanged(): void {
    this.#nodeStatus.wake();
  }

  /**
   * Reads the Node object from the API server, so that {@link node} is at least as new as this call. A failure is
   * logged.
   */
  async refresh(signal: AbortSignal): Promise<void> {
    try {
      this.#fresh = await this.#readNode(signal);
    } catch (err) {
      signal.throwIfAborted();
      this.#logger.warn({ err }, 'Failed to read the Node object');
    }
  }
}

async function together(
  signal: AbortSignal,
  parts: readonly { start(signal: AbortSignal): Promise<void> }[],
): Promise<void> {
  const group = new TaskGroup(signal);
  for (const part of parts) group.add((ending) => part.start(ending));
  await group.ended();
}
