import type { AdmissionNode } from '@node-agent/admission';
import type { DeviceManager } from '@node-agent/device-manager';
import type { Node } from '@node-agent/node-status';
import { formatResourceList, type Pod, type ResourceListJson } from '@node-agent/pod-spec';
import { hostIpsOf } from './host-ips.ts';
import type { AssemblySettings } from './ports.ts';
import type { RuntimeFacts } from './runtime-facts.ts';

/** Source of the Node object from the API server. */
interface ClusterSource {
  readonly node: Node | undefined;
  refresh(signal: AbortSignal): Promise<void>;
}

/** Sources from which {@link NodeView} takes its data, besides the settings. */
export interface NodeViewSources {
  readonly facts: Pick<RuntimeFacts, 'features'>;
  /** Returns the source of the Node object, or `undefined` if the node has no API server. */
  readonly clusterNode: () => ClusterSource | undefined;
  /** Devices of the node. `undefined` if the node has no devices. */
  readonly devices: Pick<DeviceManager, 'resources' | 'allocatableFor'> | undefined;
}

/**
 * The node as the API server reports it. Until the API server has responded, and on a node without an API server, the
 * node as the settings describe it.
 */
export class NodeView {
  readonly #settings: AssemblySettings;
  readonly #sources: NodeViewSources;
  /** Allocatable resources from the settings, used until an API server reports them. */
  #allocatable: ResourceListJson | undefined;

  constructor(settings: AssemblySettings, sources: NodeViewSources) {
    this.#settings = settings;
    this.#sources = sources;
    this.#allocatable = settings.nodeAllocatable;
  }

  /** Returns the node's addresses, the primary address first. */
  hostIps(): readonly string[] {
    const reported = hostIpsOf(this.#clusterNode ?? {});
    return reported.length > 0 ? reported : this.#settings.nodeIps;
  }

  /** Returns the node's allocatable resources, or an empty list if they are not known. */
  allocatable(): ResourceListJson {
    return this.#clusterNode?.status?.allocatable ?? this.#allocatable ?? {};
  }

  /**
   * Changes the allocatable resources of a node without an API server. Later pods are admitted by the new resources.
   */
  setAllocatable(allocatable: ResourceListJson): void {
    this.#allocatable = allocatable;
  }

  /** Returns the node's labels: the labels in the settings until the API server has reported the node's labels. */
  labels(): Readonly<Record<string, string>> {
    return this.#clusterNode?.metadata.labels ?? this.#settings.nodeLabels ?? {};
  }

  /**
   * Returns the node in the form that the admission of a pod needs. Allocatable resources include at least the devices
   * that the pod already holds.
   */
  forAdmission(pod: Pod): AdmissionNode {
    const node = this.#clusterNode ?? this.#alone();
    const allocatable = node.status?.allocatable;
    const { devices } = this.#sources;
    if (devices === undefined || allocatable === undefined) return node;
    const forPod = devices.allocatableFor(pod, allocatable);
    return forPod === allocatable ? node : { ...node, status: { ...node.status, allocatable: forPod } };
  }

  get #clusterNode(): Node | undefined {
    return this.#sources.clusterNode()?.node;
  }

  /** Describes the node from its settings, for a node without an API server. */
  #alone(): AdmissionNode {
    const { nodeName, nodeLabels } = this.#settings;
    const nodeAllocatable = this.#allocatable;
    const { facts, devices } = this.#sources;
    const features = facts.features();
    const devicesAllocatable = devices && formatResourceList(devices.resources().allocatable);
    const allocatable = nodeAllocatable && { ...nodeAllocatable, ...devicesAllocatable };
    return {
      metadata: { name: nodeName, ...(nodeLabels && { labels: nodeLabels }) },
      status: { ...(allocatable && { allocatable }), ...(features && { features }) },
    };
  }

  /**
   * Reads the Node object from the API server again. If the read fails, the known object is kept. Throws only on abort.
   */
  async refresh(signal: AbortSignal): Promise<void> {
    await this.#sources.clusterNode()?.refresh(signal);
  }
}
