import type { RefusalReason } from '@node-agent/contracts';
import { isCriticalPod, isStaticPod, type Pod } from '@node-agent/pod-spec';
import type { AdmissionNode } from './admission-node.ts';
import { matchesNodeAffinity } from './node-affinity.ts';
import { checkPredicates, firstRefusal, type Misfit, resourceMisfit } from './predicates.ts';
import type { Preemption } from './preemption.ts';
import { rememberedRequests } from './resource-fit.ts';

/** Whether a pod is admitted, and why not. */
export type Verdict = { readonly admit: true } | RecoverableRefusal;

/** A refusal that others could be ended for. */
export interface RecoverableRefusal extends RefusalReason {
  readonly admit: false;
  /** Ends those who are in the way. Where it answers that the pod is admitted, they are gone. Absent where nobody is ended for this pod. */
  readonly recover?: (signal: AbortSignal) => Promise<Verdict>;
}

/** The handler's own shape: it is an `AdmitHandler` of kubelet-core. */
export interface PredicateHandler {
  /**
   * Where a pod asks for labels that the node has not, the node is looked at anew first, as its watch may be behind the scheduler's.
   * @param others those that hold resources of the node (N1)
   */
  admit(pod: Pod, others: readonly Pod[], signal?: AbortSignal): Verdict | Promise<Verdict>;
  /** Whether the node has room for a pod that runs, as it asks to be from now on: for a critical one others are ended. Where it runs is no longer asked. */
  resize(pod: Pod, others: readonly Pod[]): Verdict;
}

/** What decides beside the node. */
export interface PredicateHandlerOptions {
  /** Gate TaintTolerationComparisonOperators; false by default. */
  readonly taintComparisons?: boolean;
}

/** What {@link predicateHandler} works with. */
export interface PredicateHandlerComponents {
  /** The node at this moment, as a pod may use it: asked for at each pod, as its labels and what it has may change. */
  readonly node: (pod: Pod) => AdmissionNode;
  /** Reads the node from where it is true, for `node` to give; never throws but for the abort. */
  readonly refresh?: (signal: AbortSignal) => Promise<void>;
  /** Makes room for critical pods; absent, they are refused as others are. */
  readonly preemption?: Pick<Preemption, 'makeRoom'>;
}

/** Asks about each pod whether the node has what it wants, in upstream's order (`GeneralPredicates`, taints). */
export function predicateHandler(
  { node, refresh, preemption }: PredicateHandlerComponents,
  { taintComparisons = false }: PredicateHandlerOptions = {},
): PredicateHandler {
  const heldBy = rememberedRequests({ useStatusResources: true });
  const context = { taintComparisons, requestsOf: rememberedRequests(), heldBy };
  const verdict = (refusal: RefusalReason | undefined): Verdict =>
    refusal === undefined ? { admit: true } : { admit: false, ...refusal };
  const answer = (pod: Pod, others: readonly Pod[], misfit: Misfit | undefined): Verdict => {
    if (misfit === undefined) return { admit: true };
    const [other] = misfit.refusals;
    if (preemption === undefined || !isCriticalPod(pod)) return { admit: false, ...firstRefusal(misfit) };
    // That resources are short does not keep a critical pod out: any other reason does.
    if (other !== undefined) return { admit: false, ...other };
    const recover = async (signal: AbortSignal): Promise<Verdict> => {
      // What one that is made smaller held counted against the pod, and is free when it has gone.
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

/** One call for all that ask in the same turn of the loop, as of a batch of pods; where it is aborted, each goes on by itself. */
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
