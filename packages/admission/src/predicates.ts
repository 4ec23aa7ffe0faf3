import type { RefusalReason } from '@node-agent/contracts';
import { isStaticPod, type Pod } from '@node-agent/pod-spec';
import type { AdmissionNode } from './admission-node.ts';
import { hasHostPortConflict } from './host-ports.ts';
import { matchesNodeAffinity } from './node-affinity.ts';
import { type InsufficientResource, insufficientResources, type RequestsOf } from './resource-fit.ts';
import { toleratesTaint } from './tolerations.ts';

/** What the predicates depend on beside pod, pods and node. */
export interface PredicateContext {
  readonly requestsOf: RequestsOf;
  /** What pods that run hold. */
  readonly heldBy: RequestsOf;
  /** Gate TaintTolerationComparisonOperators. */
  readonly taintComparisons: boolean;
}

/** What of a pod does not fit, none of it of more weight than another. */
export interface Misfit {
  /** What the node has too little of: other pods could make room. */
  readonly short: readonly InsufficientResource[];
  /** What nobody's end would change, or nobody is ended for. */
  readonly refusals: readonly RefusalReason[];
}

/**
 * Why a pod may not run on a node beside the others; `undefined` where it may. In upstream's order and words
 * (`pkg/kubelet/lifecycle/predicate.go`).
 */
export function checkPredicates(
  pod: Pod,
  others: readonly Pod[],
  node: AdmissionNode,
  context: PredicateContext,
): Misfit | undefined {
  const platform = platformRefusal(pod, node);
  const misfit = platform ? { short: [], refusals: [platform] } : generalMisfit(pod, others, node, context);
  return misfit.short.length + misfit.refusals.length > 0 ? misfit : undefined;
}

/** The first of all reasons, which a pod's status tells. */
export function firstRefusal({ short: [short], refusals: [refusal] }: Misfit): RefusalReason {
  if (short !== undefined) return insufficient(short);
  return (
    refusal ?? {
      reason: 'UnknownReason',
      message: 'GeneralPredicates failed due to unknown reason, which is unexpected.',
    }
  );
}

/** Of no use to ask again: it does not depend on what else runs here. */
function platformRefusal({ metadata, spec }: Pod, { status }: AdmissionNode): RefusalReason | undefined {
  if ((metadata.labels?.['kubernetes.io/os'] ?? 'linux') !== 'linux') {
    return {
      reason: 'PodOSSelectorNodeLabelDoesNotMatch',
      message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    };
  }
  if ((spec.os?.name ?? 'linux') !== 'linux') {
    return { reason: 'PodOSNotSupported', message: "Failed to admit pod as the OS field doesn't match node OS" };
  }
  const strict = spec.securityContext?.supplementalGroupsPolicy === 'Strict';
  if (strict && status?.features?.supplementalGroupsPolicy !== true) {
    return {
      reason: 'SupplementalGroupsPolicyNotSupported',
      message: 'SupplementalGroupsPolicy=Strict is not supported in this node',
    };
  }
  return undefined;
}

function generalMisfit(pod: Pod, others: readonly Pod[], node: AdmissionNode, context: PredicateContext): Misfit {
  const short = shortages(pod, others, node, context);
  const refusals: RefusalReason[] = [];
  const refuse = (reason: string, text: string): unknown =>
    refusals.push({ reason, message: `Predicate ${reason} failed: ${text}` });
  if (!matchesNodeAffinity(pod, node)) refuse('NodeAffinity', "node(s) didn't match Pod's node affinity/selector");
  if (pod.spec.nodeName && pod.spec.nodeName !== node.metadata.name) {
    refuse('NodeName', "node(s) didn't match the requested node name");
  }
  if (hasHostPortConflict(pod, others)) {
    refuse('NodePorts', "node(s) didn't have free ports for the requested pod ports");
  }
  // Other effects are the scheduler's; and a static pod is the node's own.
  const evicting = isStaticPod(pod) ? [] : (node.spec?.taints ?? []).filter(({ effect }) => effect === 'NoExecute');
  const tolerations = pod.spec.tolerations ?? [];
  if (!evicting.every((taint) => tolerations.some((one) => toleratesTaint(one, taint, context.taintComparisons)))) {
    refuse('TaintToleration', "node(s) had taints that the pod didn't tolerate");
  }
  return { short, refusals };
}

/** What a node has not enough left of for a pod beside the others; `undefined` where it has, and where nobody knows what it has. */
export function resourceMisfit(
  pod: Pod,
  others: readonly Pod[],
  node: AdmissionNode,
  context: Pick<PredicateContext, 'requestsOf' | 'heldBy'>,
): Misfit | undefined {
  const short = shortages(pod, others, node, context);
  return short.length > 0 ? { short, refusals: [] } : undefined;
}

/** What a node has not enough of for a pod beside the others. */
function shortages(
  pod: Pod,
  others: readonly Pod[],
  { status }: AdmissionNode,
  { requestsOf, heldBy }: Pick<PredicateContext, 'requestsOf' | 'heldBy'>,
): readonly InsufficientResource[] {
  return status?.allocatable ? insufficientResources(pod, others, status.allocatable, requestsOf, heldBy) : [];
}

function insufficient({ resource, requested, used, capacity }: InsufficientResource): RefusalReason {
  const amounts = `requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  return { reason: `OutOf${resource}`, message: `Node didn't have enough resource: ${resource}, ${amounts}` };
}
