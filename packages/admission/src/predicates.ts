import type { RefusalReason } from '@node-agent/contracts';
import { isStaticPod, type Pod } from '@node-agent/pod-spec';
import type { AdmissionNode } from './admission-node.ts';
import { hasHostPortConflict } from './host-ports.ts';
import { matchesNodeAffinity } from './node-affinity.ts';
import { type InsufficientResource, insufficientResources, type RequestsOf } from './resource-fit.ts';
import { toleratesTaint } from './tolerations.ts';
import type { TotalOf } from './total-held.ts';

/** Inputs of the predicates in addition to pod, other pods and node. */
export interface PredicateContext {
  readonly requestsOf: RequestsOf;
  /** Returns the resources held by running pods. */
  readonly totalHeld: TotalOf;
  /** Feature gate TaintTolerationComparisonOperators. */
  readonly taintComparisons: boolean;
}

/** All reasons why a pod does not fit. */
export interface Misfit {
  /** Insufficient resources: evicting other pods could free them. */
  readonly short: readonly InsufficientResource[];
  /** Reasons that evicting other pods would not resolve, or for which no pods are evicted. */
  readonly refusals: readonly RefusalReason[];
}

/**
 * Returns why a pod does not fit on the node together with the other pods. Returns `undefined` if the pod fits. Order
 * and messages are upstream's (`pkg/kubelet/lifecycle/predicate.go`).
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

/** Returns the first reason, which is shown in the pod's status. */
export function firstRefusal({ short: [short], refusals: [refusal] }: Misfit): RefusalReason {
  if (short !== undefined) return insufficient(short);
  return (
    refusal ?? {
      reason: 'UnknownReason',
      message: 'GeneralPredicates failed due to unknown reason, which is unexpected.',
    }
  );
}

/**
 * Returns why the pod cannot run on the node's platform. The reason does not depend on other pods, so a retry would not
 * help.
 */
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
  // Only taints with the effect NoExecute are checked; the scheduler handles the other effects. Static pods belong to
  // the node and are exempt.
  const evicting = isStaticPod(pod) ? [] : (node.spec?.taints ?? []).filter(({ effect }) => effect === 'NoExecute');
  const tolerations = pod.spec.tolerations ?? [];
  if (!evicting.every((taint) => tolerations.some((one) => toleratesTaint(one, taint, context.taintComparisons)))) {
    refuse('TaintToleration', "node(s) had taints that the pod didn't tolerate");
  }
  return { short, refusals };
}

/**
 * Returns the resources that are insufficient for a pod together with the other pods. Returns `undefined` if all
 * suffice or the node's resources are unknown.
 */
export function resourceMisfit(
  pod: Pod,
  others: readonly Pod[],
  node: AdmissionNode,
  context: Pick<PredicateContext, 'requestsOf' | 'totalHeld'>,
): Misfit | undefined {
  const short = shortages(pod, others, node, context);
  return short.length > 0 ? { short, refusals: [] } : undefined;
}

/** Returns the resources that are insufficient for a pod together with the other pods. */
function shortages(
  pod: Pod,
  others: readonly Pod[],
  { status }: AdmissionNode,
  { requestsOf, totalHeld }: Pick<PredicateContext, 'requestsOf' | 'totalHeld'>,
): readonly InsufficientResource[] {
  return status?.allocatable ? insufficientResources(pod, others, status.allocatable, requestsOf, totalHeld) : [];
}

function insufficient({ resource, requested, used, capacity }: InsufficientResource): RefusalReason {
  const amounts = `requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  return { reason: `OutOf${resource}`, message: `Node didn't have enough resource: ${resource}, ${amounts}` };
}
