import type { AdmitResult, RefusalReason } from '@node-agent/contracts';
import type { Pod } from '@node-agent/pod-spec';

/** Decides whether a pod may run on this node. */
export interface AdmitHandler {
  /**
   * Admits or rejects a pod. A handler may take long, for example to query a device plugin or to preempt other pods.
   * Meanwhile, the admission of other pods continues. May be called again for a pod that the handler rejected or
   * released, but not while an earlier call for a pod with the same UID is in progress.
   * @param activePods pods that hold resources of the node: admitted, or possibly admitted before this one (N1)
   * @param signal aborted when the pod is gone or must terminate
   */
  admit(pod: Pod, activePods: readonly Pod[], signal: AbortSignal): AdmitResult | Promise<AdmitResult>;
  /**
   * Decides whether a running pod may get the resources that it requests. Must return immediately. A handler that does
   * not restrict resizes lacks this method.
   * @param activePods the other pods, with their allocated resources
   */
  resize?(pod: Pod, activePods: readonly Pod[]): AdmitResult;
  /**
   * Checks a changed pod.
   * @returns reason and message of a warning event if the change requests something that this node does not support;
   * the pod continues
   */
  updated?(before: Pod, pod: Pod): RefusalReason | undefined;
  /**
   * Notes that all handlers have admitted the pod, so that the resources reserved for the pod count as used by the pod.
   * The pod is among the active pods from the same turn of the event loop on.
   */
  admitted?(pod: Pod): void;
  /**
   * Notes that a pod runs from before a restart of the kubelet and is not admitted again (N1).
   * @param signal aborted when the kubelet stops
   */
  resumed?(pod: Pod, signal: AbortSignal): void;
  /**
   * Releases the resources reserved for a pod that this handler admitted but that will not run. The method is not
   * called after {@link admitted}.
   */
  release?(pod: Pod): void;
}

export type { AdmitResult, Refusal } from '@node-agent/contracts';
