import type { RefusalReason } from '@node-agent/contracts';
import { isCriticalPod, isStaticPod, type Pod } from '@node-agent/pod-spec';
import type { AdmissionNode } from './admission-node.ts';
import { matchesNodeAffinity } from './node-affinity.ts';
import { checkPredicates, firstRefusal, type Misfit, resourceMisfit } from './predicates.ts';
import type { Preemption } from './preemption.ts';
import { rememberedRequests } from './resource-fit.ts';
import { runningTotal } from './total-held.ts';

/** Result of admission. */
export type Verdict = { readonly admit: true } | RecoverableRefusal;

/** A rejection that evicting other pods might resolve. */
export interface RecoverableRefusal extends RefusalReason {
  readonly admit: false;
  /**
   * Evicts other pods to make room for the pod, and resolves to the new decision. Absent if no pods are evicted for
   * this pod.
   */
  readonly recover?: (signal: AbortSignal) => Promise<Verdict>;
}

/** Handler for the predicates; compatible with `AdmitHandler` of kubelet-core. */
export interface PredicateHandler {
  /**
   * Checks a pod. If the node lacks labels that the pod requires, the Node is first read again, because the node's
   * watch may be behind the scheduler's.
   * @param others the pods that hold resources of the node (N1)
   */
  admit(pod: Pod, others: readonly Pod[], signal?: AbortSignal): Verdict | Promise<Verdict>;
  /**
   * Checks whether the node has room for a running pod with its new requests; for a critical pod, others may be
   * evicted. Node affinity and the other predicates are not checked again.
   */
  resize(pod: Pod, others: readonly Pod[]): Verdict;
}

/** Options besides the node. */
export interface PredicateHandlerOptions {
  /** Feature gate TaintTolerationComparisonOperators. Default: false. */
  readonly taintComparisons?: boolean;
  /**
   * State of the feature gate DRAExtendedResource, with which ResourceClaims may back extended resources. Default:
   * enabled.
   */
  readonly extendedResourceClaims?: boolean;
}

/** Dependencies of {@link predicateHandler}. */
export interface PredicateHandlerComponents {
  /** Returns the current Node for a pod; called for each pod, because labels and resources may change. */
  readonly node: (pod: Pod) => AdmissionNode;
  /** Reads the Node from the API server, so that `node` returns it; throws only if aborted. */
  readonly refresh?: (signal: AbortSignal) => Promise<void>;
  /** Makes room for critical pods. If absent, critical pods are rejected like other pods. */
  readonly preemption?: Pick<Preemption, 'makeRoom'>;
}

/** Creates the handler that checks whether the node fits a pod, in upstream's order (`GeneralPredicates`, taints). */
export function predicateHandler(
  { node, refresh, preemption }: PredicateHandlerComponents,
  { taintComparisons = false, extendedResourceClaims = true }: PredicateHandlerOptions = {},
): PredicateHandler {
  const requestsOf = rememberedRequests({ extendedResourceClaims });
  const heldBy = rememberedRequests({ useStatusResources: true, extendedResourceClaims });
  const context = { taintComparisons, requestsOf, totalHeld: runningTotal(heldBy) };
  const verdict = (refusal: RefusalReason | undefined): Verdict =>
    refusal === undefined ? { admit: true } : { admit: false, ...refusal };
  const answer = (pod: Pod, others: readonly Pod[], misfit: Misfit | undefined): Verdict => {
    if (misfit === undefined) return { admit: true };
    const [other] = misfit.refusals;
    if (preemption === undefined || !isCriticalPod(pod)) return { admit: false, ...firstRefusal(misfit) };
    // Insufficient resources alone do not keep a critical pod out; any other reason does.
    if (other !== undefined) return { admit: false, ...other };
    const recover = async (signal: AbortSignal): Promise<Verdict> => {
      // While a victim is being resized down, its former requests count against the pod. When the victim has
      // terminated, all of these resources are free.
      return verdict(await preemption.makeRoom(pod, misfit.short, others, heldBy, signal));
    };
    return { admit: false, ...firstRefusal(misfit), recover };
  };
  const check = (pod: Pod, others: readonly Pod[]): Verdict =>
    answer(pod, others, checkPredicates(pod, others, node(pod), context));
  const look = refresh && sharedInOneTurn(refresh);
  return {
    admit(pod, others, signal = new AbortController().signal) {
      if (look === undefined || isStaticPod(pod) || matchesNodeAffinity(pod, node(pod))) return check(pod, others);
      return look(signal).then(() => check(pod, others));
    },
    resize: (pod, others) => answer(pod, others, resourceMisfit(pod, others, node(pod), context)),
  };
}

/**
 * Shares one call between all callers in the same turn of the event loop, as for a batch of pods. If the shared call is
 * aborted, each caller makes its own.
 */
function sharedInOneTurn(call: (signal: AbortSignal) => Promise<void>): (signal: AbortSignal) => Promise<void> {
  let shared: Promise<void> | undefined;
  return async (signal) => {
    shared ??= Promise.resolve().then(() => {
      shared = undefined;
      return call(signal);
    });
    try {
      await shared;
    } catch {
      signal.throwIfAborted();
      await call(signal);
    }
  };
}
