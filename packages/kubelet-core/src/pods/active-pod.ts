import { isTerminalPhase, type Pod } from '@node-agent/pod-spec';

/**
 * Facts, besides the pod itself, that decide whether the pod holds resources of the node. Each fact is read only if a
 * rule needs it, because the rules are applied to all pods.
 */
export interface PodHolding {
  /** Whether the pod worker knows that the pod has terminated. */
  readonly isFinished: boolean;
  /** Whether the pod is still in admission. */
  readonly isUndecided: boolean;
  /** Whether the pod was admitted and has an allocation. */
  readonly hasAllocation: boolean;
  /** Whether the pod worker terminates the pod or has terminated it. */
  readonly isEnding: boolean;
  /** Phase of the status that this kubelet knows; absent if it knows none. */
  readonly phase?: string | undefined;
}

/**
 * Returns whether an inactive pod can become active again only if its source shows it again or its UID is reused.
 * Returns true if the phase is terminal and the pod never had an allocation or has terminated completely.
 */
export function staysInactive(pod: Pod, holding: PodHolding): boolean {
  return isTerminal(pod, holding) && (holding.isFinished || !holding.hasAllocation);
}

/**
 * Returns whether a pod holds resources of the node and therefore counts in the admission of other pods (N1): it was
 * admitted and has not terminated.
 */
export function isActive(pod: Pod, holding: PodHolding): boolean {
  if (holding.isFinished || holding.isUndecided) return false;
  // The pod was deleted before it was admitted, so nothing was allocated to it.
  if (pod.metadata.deletionTimestamp !== undefined && !holding.hasAllocation) return false;
  // A terminal pod holds no resources unless its containers are being stopped right now. A rejected pod has no
  // containers, however long its termination waits for the runtime.
  return !isTerminal(pod, holding) || (holding.isEnding && holding.hasAllocation);
}

function isTerminal(pod: Pod, { phase }: PodHolding): boolean {
  return isTerminalPhase(pod.status?.phase) || isTerminalPhase(phase);
}
