import type { ResourceListJson } from '@node-agent/pod-spec';

/** A taint of a node, as its JSON has it. */
export interface NodeTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

/** What of a node decides about its pods: a Node as the API has it fits. */
export interface AdmissionNode {
  readonly metadata: { readonly name?: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: { readonly taints?: readonly NodeTaint[] };
  readonly status?: {
    /** What pods can have of the node, `pods` included; what is not in it is 0. Not known at all: it is not asked for. */
    readonly allocatable?: ResourceListJson;
    readonly features?: { readonly supplementalGroupsPolicy?: boolean };
  };
}
