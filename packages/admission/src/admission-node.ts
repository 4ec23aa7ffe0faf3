import type { ResourceListJson } from '@node-agent/pod-spec';

/** A taint of a node, in the API's JSON form. */
export interface NodeTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

/** The part of a Node that admission uses; the API's Node objects are compatible. */
export interface AdmissionNode {
  readonly metadata: { readonly name?: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: { readonly taints?: readonly NodeTaint[] };
  readonly status?: {
    /**
     * Resources that pods can use, including `pods`; absent resources count as 0. If absent as a whole, resources are
     * not checked.
     */
    readonly allocatable?: ResourceListJson;
    readonly features?: { readonly supplementalGroupsPolicy?: boolean };
  };
}
