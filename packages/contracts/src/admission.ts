/** Reason why a pod cannot run on this node, for its status and its event. */
export interface RefusalReason {
  /** Reason in CamelCase, for example `OutOfcpu`. */
  readonly reason: string;
  readonly message: string;
}

/** Decision that a pod cannot run on this node. */
export interface Refusal extends RefusalReason {
  readonly admit: false;
  /**
   * Removes the obstacle, if the handler can: for a critical pod it evicts other pods. Called at most once, and only after all
   * pods that came before this pod are decided.
   * @returns the new decision: the pod is admitted now, or another reason why the pod is rejected
   */
  readonly recover?: (signal: AbortSignal) => Promise<AdmitResult>;
}

/** Decision of an admit handler about a pod. */
export type AdmitResult = { readonly admit: true } | Refusal;
