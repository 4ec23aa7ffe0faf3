import type { Pod } from '@node-agent/pod-spec';
import type { AdmissionNode } from './admission-node.ts';
import { checkPredicates, type Refusal } from './predicates.ts';
import { rememberedRequests } from './resource-fit.ts';

/** The handler's own shape: it is an `AdmitHandler` of kubelet-core. */
export interface PredicateHandler {
  /** @param others those that hold resources of the node (N1) */
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
 */
export function predicateHandler(
  { node }: { readonly node: () => AdmissionNode },
  { taintComparisons = false }: PredicateHandlerOptions = {},
): PredicateHandler {
  const context = { taintComparisons, requestsOf: rememberedRequests() };
  return {
    admit(pod, others) {
      const refusal = checkPredicates(pod, others, node(), context);
      return refusal === undefined ? { admit: true } : { admit: false, ...refusal };
    },
  };
}
