import type { AdmissionNode } from '@node-agent/admission';
import type { DeviceManager } from '@node-agent/device-manager';
import type { Node } from '@node-agent/node-status';
import { formatResourceList, type Pod, type ResourceListJson } from '@node-agent/pod-spec';
import { hostIpsOf } from './host-ips.ts';
import type { AssemblySettings } from './ports.ts';
import type { RuntimeFacts } from './runtime-facts.ts';

/** The node as its cluster has it. */
interface ClusterSource {
  readonly node: Node | undefined;
  refresh(signal: AbortSignal): Promise<void>;
}

/** What the view reads, beside the settings. */
export interface NodeViewSources {
  readonly facts: Pick<RuntimeFacts, 'features'>;
  /** Returns `undefined` if the node has no API server. */
  readonly clusterNode: () => ClusterSource | undefined;
  /** `undefined` if the node has no devices. */
  readonly devices: Pick<DeviceManager, 'resources' | 'allocatableFor'> | undefined;
}

/** The node as the API server has it. Before the API server has answered, and without one, the node as it was configured. */
export class NodeView {
  readonly #settings: AssemblySettings;
  readonly #sources: NodeViewSources;

  constructor(settings: AssemblySettings, sources: NodeViewSources) {
    this.#settings = settings;
    this.#sources = sources;
  }

  /** Primary first. */
  hostIps(): readonly string[] {
    const reported = hostIpsOf(this.#clusterNode ?? {});
    return reported.length > 0 ? reported : this.#settings.nodeIps;
  }

  /** What pods may use of the node; empty where nobody has said it. */
  allocatable(): ResourceListJson {
    return this.#clusterNode?.status?.allocatable ?? this.#settings.nodeAllocatable ?? {};
  }

  /** Those of its own set-up until its cluster has told them. */
  labels(): Readonly<Record<string, string>> {
    return this.#clusterNode?.metadata.labels ?? this.#settings.nodeLabels ?? {};
  }

  /** What admission looks at for a pod. */
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
    const { nodeName, nodeLabels, nodeAllocatable } = this.#settings;
    const { facts, devices } = this.#sources;
    const features = facts.features();
    const devicesAllocatable = devices && formatResourceList(devices.resources().allocatable);
    const allocatable = nodeAllocatable && { ...nodeAllocatable, ...devicesAllocatable };
    return {
      metadata: { name: nodeName, ...(nodeLabels && { labels: nodeLabels }) },
      status: { ...(allocatable && { allocatable }), ...(features && { features }) },
    };
  }

  /** Reads it anew; where it cannot be read, what is known stays. Never throws but for the abort. */
  async refresh(signal: AbortSignal): Promise<void> {
    await this.#sources.clusterNode()?.refresh(signal);
  }
}
