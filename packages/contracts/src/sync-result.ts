/** Reason why a step of a sync failed, as `status.containerStatuses[].state.waiting` shows it. */
export interface SyncFailure {
  /** Reason in CamelCase, such as `CrashLoopBackOff`, `CreateContainerError` or `ErrImagePull`. */
  readonly reason: string;
  readonly message: string;
  /** Time at which the step may be retried (monotonic clock); absent unless the step only waits for that time. */
  readonly retryAtMs?: number;
}

/** One step of a pod's sync with the runtime, and its outcome. */
export interface SyncResult<Action extends string = string> {
  /** Name of the action, such as `StartContainer`, `KillContainer` or `CreatePodSandbox`. */
  readonly action: Action;
  /** Name of the container; `name_namespace(uid)` for a sandbox. */
  readonly target: string;
  readonly error?: SyncFailure;
}

/** Outcome of a pod's sync with the runtime. */
export interface PodSyncResult<Action extends string = string, Failure extends Error = Error> {
  readonly results: readonly SyncResult<Action>[];
  /**
   * Set if the runtime status that the sync got was too old: the runtime knows of containers that will be replaced, and the
   * pod's status must show that first. The sync did nothing. The caller must read the pod again and repeat the sync.
   */
  readonly isOutdated?: true;
  /** All failures and waits of the sync in one error. */
  readonly error?: Failure;
}
