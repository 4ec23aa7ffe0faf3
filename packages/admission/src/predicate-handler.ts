import { isStaticPod, type Pod } from '@node-agent/pod-spec';
import type { AdmissionNode } from './admission-node.ts';
import { matchesNodeAffinity } from './node-affinity.ts';
import { checkPredicates, type Refusal } from './predicates.ts';
import { rememberedRequests } from './resource-fit.ts';

/** The handler's own shape: it is an `AdmitHandler` of kubelet-core. */
export interface PredicateHandler {
  /** @param others those that hold resources of the node (N1) */
  /** Where a pod asks for labels that the node has not: looks at the node anew, as its watch may be behind the scheduler's. */
  prepare(pods: readonly Pod[], signal: AbortSignal): Promise<void>;
  admit(pod: Pod, others: readonly Pod[]): { readonly admit: true } | ({ readonly admit: false } & Refusal);
}

/** What decides beside the node. */
export interface PredicateHandlerOptions {
  /** Gate TaintTolerationComparisonOperators; false by default. */
  readonly taintComparisons?: boolean;
}

/**
 * Asks {@link checkPredicates} about each pod.
 * @param components.node the node at this moment: asked for at each pod, as its labels and what it has may change
 * @param components.refresh reads the node from where it is true, for `node` to give; never throws but for the abort
 */
export function predicateHandler(
  { node, refresh }: { readonly node: () => AdmissionNode; readonly refresh?: (signal: AbortSignal) => Promise<void> },
  { taintComparisons = false }: PredicateHandlerOptions = {},
): PredicateHandler {
  const context = { taintComparisons, requestsOf: rememberedRequests() };
  return {
    async prepare(pods, signal) {
      if (pods.some((pod) => !isStaticPod(pod) && !matchesNodeAffinity(pod, node()))) await refresh?.(signal);
    },
    admit(pod, others) {
      const refusal = checkPredicates(pod, others, node(), context);
      return refusal === undefined ? { admit: true } : { admit: false, ...refusal };
    },
  };
}
