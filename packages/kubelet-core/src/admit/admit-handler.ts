import type { AdmitResult, RefusalReason } from '@node-agent/contracts';
import type { Pod } from '@node-agent/pod-spec';

/** Decides whether a pod may run here at all. */
export interface AdmitHandler {
  /**
   * Whoever has to look something up, to ask a device plugin or to end other pods first may take its time: other pods go on
   * meanwhile. May be asked again for a pod that it refused, or that was released.
   * @param activePods the pods that are admitted already, or may be before this one, and hold resources (N1)
   * @param signal aborted when the pod is gone, or is to end
   */
  admit(pod: Pod, activePods: readonly Pod[], signal: AbortSignal): AdmitResult | Promise<AdmitResult>;
  /**
   * Whether a pod that runs may become as large as it asks to be. Answers at once; who has no say in it has no such method.
   * @param activePods the others, with what they were granted
   */
  resize?(pod: Pod, activePods: readonly Pod[]): AdmitResult;
  /**
   * A source shows another state of a pod. @returns what its change asks for that is not to be had here: the reason and message of a warning,
   * with which the pod goes on
   */
  updated?(before: Pod, pod: Pod): RefusalReason | undefined;
  /** All have admitted the pod: what was set aside for it is its own. It is among the active pods in the same turn of the loop. */
  admitted?(pod: Pod): void;
  /** The pod that it admitted is not to run after all: what was set aside for it is free again. Not called after {@link admitted}. */
  release?(pod: Pod): void;
}

export type { AdmitResult, Refusal } from '@node-agent/contracts';
