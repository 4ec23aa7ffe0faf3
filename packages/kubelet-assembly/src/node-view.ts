import type { AdmissionNode } from '@node-agent/admission';
import type { DeviceManager } from '@node-agent/device-manager';
import type { Node } from '@node-agent/node-status';
import { formatResourceList, type Pod, type ResourceListJson } from '@node-agent/pod-spec';
import { hostIpsOf } from './host-ips.ts';
import type { AssemblySettings } from './ports.ts';
import type { RuntimeFacts } from './runtime-facts.ts';

/** Who knows the node as its cluster has it. */
interface NodeSource {
  readonly node: Node | undefined;
  refresh(signal: AbortSignal): Promise<void>;
}

/** Who knows the devices of the node. */
type DeviceSource = Pick<DeviceManager, 'resources' | 'allocatableFor'>;

/** The node as the API server has it, or as it was set up where there is none, or before that has told it. */
export class NodeView {
  readonly #settings: AssemblySettings;
  readonly #facts: RuntimeFacts;
  #cluster: NodeSource | undefined;
  #devices: DeviceSource | undefined;

  constructor(settings: AssemblySettings, facts: RuntimeFacts) {
    this.#settings = settings;
    this.#facts = facts;
  }

  /** From now on the cluster's word counts. */
  join(cluster: NodeSource): void {
    this.#cluster = cluster;
  }

  /** From now on the node has devices. */
  joinDevices(devices: DeviceSource): void {
    this.#devices = devices;
  }

  /** Primary first. */
  hostIps(): readonly string[] {
    const told = hostIpsOf(this.#cluster?.node ?? {});
    return told.length > 0 ? told : this.#settings.nodeIps;
  }

  /** What pods may use of the node; empty where nobody has said it. */
  allocatable(): ResourceListJson {
    return this.#cluster?.node?.status?.allocatable ?? this.#settings.nodeAllocatable ?? {};
  }

  /** Those of its own set-up until its cluster has told them. */
  labels(): Readonly<Record<string, string>> {
    return this.#cluster?.node?.metadata.labels ?? this.#settings.nodeLabels ?? {};
  }

  annotations(): Readonly<Record<string, string>> | undefined {
    return this.#cluster?.node?.metadata.annotations;
  }

  /** What admission looks at for a pod. */
  forAdmission(pod: Pod): AdmissionNode {
    const node = this.#cluster?.node ?? this.#alone();
    const allocatable = node.status?.allocatable;
    if (this.#devices === undefined || allocatable === undefined) return node;
    const forPod = this.#devices.allocatableFor(pod, allocatable);
    return forPod === allocatable ? node : { ...node, status: { ...node.status, allocatable: forPod } };
  }

  /** Where nobody else says what the node is. */
  #alone(): AdmissionNode {
    const { nodeName, nodeLabels, nodeAllocatable } = this.#settings;
    const features = this.#facts.features();
    const devices = this.#devices && formatResourceList(this.#devices.resources().allocatable);
    const allocatable = nodeAllocatable && { ...nodeAllocatable, ...devices };
    return {
      metadata: { name: nodeName, ...(nodeLabels && { labels: nodeLabels }) },
      status: { ...(allocatable && { allocatable }), ...(features && { features }) },
    };
  }

  /** Reads it anew; where it cannot be read, what is known stays. Never throws but for the abort. */
  async refresh(signal: AbortSignal): Promise<void> {
    await this.#cluster?.refresh(signal);
  }
}
