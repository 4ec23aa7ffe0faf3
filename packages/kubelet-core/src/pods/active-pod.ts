import { isTerminalPhase, type Pod } from '@node-agent/pod-spec';

/** What decides, beside the pod itself, whether it holds resources of the node. */
export interface PodHolding {
  /** Its worker knows that it has ended, whole. */
  readonly isFinished: boolean;
  /** Its admission is not decided yet. */
  readonly isUndecided: boolean;
  /** It was let in, and has what it was granted. */
  readonly hasGrant: boolean;
  /** Its worker ends it, or has ended it. */
  readonly isEnding: boolean;
  /** Of the status that this kubelet knows; absent where it knows of none. */
  readonly phase?: string | undefined;
}

/**
 * Whether a pod that is not active stays so until its source shows it again or its UID is used again: it has ended, and was given nothing, or all of
 * it is gone.
 */
export function staysInactive(pod: Pod, { isFinished, hasGrant, phase }: PodHolding): boolean {
  return (isTerminalPhase(pod.status?.phase) || isTerminalPhase(phase)) && (isFinished || !hasGrant);
}

/** Whether a pod holds resources of the node, so that others are admitted beside it (N1): let in, and not ended. */
export function isActive(pod: Pod, { isFinished, isUndecided, hasGrant, isEnding, phase }: PodHolding): boolean {
  if (isFinished || isUndecided) return false;
  // It was to end before it was admitted: nothing was given to it.
  if (pod.metadata.deletionTimestamp !== undefined && !hasGrant) return false;
  const isTerminal = isTerminalPhase(pod.status?.phase) || isTerminalPhase(phase);
  // A terminal pod holds nothing, unless its containers are being stopped right now. One that was refused has none, however long its end
  // waits for the runtime.
  return !isTerminal || (isEnding && hasGrant);
}
