import { TaskGroup, withTimeout } from '@node-agent/async';
import type { DeviceManager } from '@node-agent/device-manager';
import { fieldSelector, Reflector, resources } from '@node-agent/kube-client';
import type { BackgroundService, KubeletView, PodJournalPort } from '@node-agent/kubelet-core';
import {
  type Node,
  NodeLease,
  NodeStatusManager,
  type PressureFacts,
  restLeaseClient,
  restNodeClient,
} from '@node-agent/node-status';
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
import type { ClusterPorts, ClusterSettings, PartComponents } from './cluster-ports.ts';
import { newerNode } from './newer-node.ts';
import { followNode } from './node-changes.ts';
import { notedStatusApi } from './noted-work.ts';
import type { PodSourcePort } from './ports.ts';
import type { RuntimeFacts } from './runtime-facts.ts';

/** For how long new pods may wait for a look at the node. */
const READ_TIMEOUT_MS = 5_000;

/** What the other parts of this node give to those that speak with the API server. */
export interface NodeParts {
  readonly journal: PodJournalPort;
  readonly statuses: StatusSource;
  readonly pods: StatusPods & MirrorPodsComponents['pods'] & { translatePodUid(uid: string): string };
  readonly safety: PodDeletionSafety;
  readonly mirrors: Pick<MirrorPodsComponents, 'isTerminating' | 'sourcesReady'>;
  readonly runtime: RuntimeFacts;
  readonly kubelet: () => Pick<KubeletView, 'readiness' | 'updateRuntimeUp'>;
  /** Absent where the node has none. */
  readonly devices: Pick<DeviceManager, 'resources' | 'reported' | 'isNewNode'> | undefined;
  /** That the node shuts down, where it does. */
  readonly shutdownErrors: () => readonly string[];
  /** What the node is short of. */
  readonly pressure: () => PressureFacts;
  /** The range of pod addresses that the cluster has for the node. */
  readonly onPodCidr: (cidr: string, signal: AbortSignal) => Promise<void>;
  /** The API server has just answered. */
  readonly onServerHeard: () => void;
  /** It does not know this node: what it has may be of another store than what was followed. */
  readonly onStoreLost: () => void;
}

/**
 * The node in its cluster: the pods that are bound to it come from the API server, and their statuses, the node's own, and
 * its lease go there.
 */
export class ClusterNode {
  readonly podSource: PodSourcePort;
  readonly statusWriter: StatusWriter;
  readonly mirrorPods: MirrorPods;
  /** Run beside the sync loop. */
  readonly services: readonly BackgroundService[];
  readonly #nodeStatus: NodeStatusManager;
  readonly #node: Reflector<Node>;
  readonly #readNode: (signal: AbortSignal) => Promise<Node>;
  readonly #logger: Logger;
  /** As {@link refresh} read it. */
  #fresh: Node | undefined;

  constructor(
    child: (component: string) => PartComponents,
    ports: ClusterPorts,
    settings: ClusterSettings & { readonly nodeName: string },
    parts: NodeParts,
  ) {
    const { requests: client, heartbeats, onAddresses } = ports;
    const { nodeName } = settings;
    const pods = new Reflector(
      { ...child('pod-watch'), client },
      { resource: resources.pods, fieldSelector: fieldSelector({ 'spec.nodeName': nodeName }) },
    );
    const node = new Reflector<Node>(
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

    const { devices } = parts;
    const nodes = restNodeClient(heartbeats, (name) => node.objects.get(name));
    const onRepeatedHeartbeatFailure = (): void => ports.closeConnections?.();
    // What is followed from a version of another store hears nothing of this one.
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
        ...(devices && { onDevicesReported: (removed: readonly string[]) => devices.reported(removed) }),
        // Its store may have been lost between the first list and this: nobody else finds that out.
        onCreated: listAnew,
        sources: {
          ...ports.machine,
          runtimeVersion: (signal) => parts.runtime.version(signal),
          images: (signal) => parts.runtime.images(signal),
          checkRuntime: (signal) => parts.kubelet().updateRuntimeUp(signal),
          readiness: () => ({ ...parts.kubelet().readiness(), shutdownErrors: parts.shutdownErrors() }),
          pressure: () => parts.pressure(),
          ...(devices && { devicePlugins: () => devices.resources() }),
          runtimeHandlers: () => parts.runtime.handlers(),
          runtimeFeatures: () => parts.runtime.features(),
          // No type of volume so far is one that a controller attaches.
          volumesInUse: () => [],
        },
      },
      { ...settings.node, ...(devices && { resetExtendedResources: () => devices.isNewNode() }), nodeName },
    );
    // What waits after a failure need not wait longer.
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
        // Its store was lost, or somebody has deleted the node.
        onNodeMissing: () => {
          listAnew();
          this.#nodeStatus.registerAgain();
        },
      },
      { nodeName, leaseDurationSeconds: settings.leaseDurationSeconds },
    );
    // The cluster has given the node up: it is told at once that it is there.
    const onUnknown = (): void => this.#nodeStatus.wake();
    this.services = [
      { name: 'node watch', start: (signal) => node.start(signal) },
      { name: 'node changes', start: (signal) => followNode(node, { onAddresses, onUnknown }, signal) },
      { name: 'status writer', start: (signal) => this.statusWriter.start(signal) },
      { name: 'mirror pods', start: (signal) => this.mirrorPods.start(signal) },
      { name: 'node status', start: (signal) => this.#nodeStatus.start(signal) },
      { name: 'node lease', start: (signal) => lease.start(signal) },
    ];
  }

  /** The node as its watch has it, or as it was read or registered; `undefined` before either. */
  get node(): Node | undefined {
    const [watched] = this.#node.objects.values();
    return newerNode(watched, this.#fresh) ?? this.#nodeStatus.node;
  }

  /** Something changed that the node's status says: it is written now. */
  statusChanged(): void {
    this.#nodeStatus.wake();
  }

  /** Reads the node from the API server, for {@link node} to be no older than now; where it cannot, that is logged. */
  async refresh(signal: AbortSignal): Promise<void> {
    try {
      this.#fresh = await this.#readNode(signal);
    } catch (err) {
      signal.throwIfAborted();
      this.#logger.warn({ err }, 'Failed to read the node');
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
