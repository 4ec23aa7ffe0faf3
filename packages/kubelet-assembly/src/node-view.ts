import type { AdmissionNode } from '@node-agent/admission';
import type { Node } from '@node-agent/node-status';
import type { ResourceListJson } from '@node-agent/pod-spec';
import { hostIpsOf } from './host-ips.ts';
import type { AssemblySettings } from './ports.ts';
import type { RuntimeFacts } from './runtime-facts.ts';

/** Who knows the node as its cluster has it. */
interface NodeSource {
  readonly node: Node | undefined;
  refresh(signal: AbortSignal): Promise<void>;
}

/** The node as the API server has it, or as it was set up where there is none, or before that has told it. */
export class NodeView {
  readonly #settings: AssemblySettings;
  readonly #facts: RuntimeFacts;
  #cluster: NodeSource | undefined;

  constructor(settings: AssemblySettings, facts: RuntimeFacts) {
    this.#settings = settings;
    this.#facts = facts;
  }

  /** From now on the cluster's word counts. */
  join(cluster: NodeSource): void {
    this.#cluster = cluster;
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

  annotations(): Readonly<Record<string, string>> | undefined {
    return this.#cluster?.node?.metadata.annotations;
  }

  /** What admission looks at. */
  forAdmission(): AdmissionNode {
    const told = this.#cluster?.node;
    if (told !== undefined) return told;
    const { nodeName, nodeLabels, nodeAllocatable } = this.#settings;
    const features = this.#facts.features();
    return {
      metadata: { name: nodeName, ...(nodeLabels && { labels: nodeLabels }) },
      status: { ...(nodeAllocatable && { allocatable: nodeAllocatable }), ...(features && { features }) },
    };
  }

  /** Reads it anew; where it cannot be read, what is known stays. Never throws but for the abort. */
  async refresh(signal: AbortSignal): Promise<void> {
    await this.#cluster?.refresh(signal);
  }
}
