/** Reason why a step of a sync failed, as `status.containerStatuses[].state.waiting` shows it. */
export interface SyncFailure {
  /** `CrashLoopBackOff`, `CreateContainerError`, `ErrImagePull`, ... */
  readonly reason: string;
  readonly message: string;
  /** When the step may be retried (monotonic clock), if the step only waits for that time. */
  readonly retryAtMs?: number;
}

/** One step of a pod's sync with the runtime, and its outcome. */
export interface SyncResult<Action extends string = string> {
  /** `StartContainer`, `KillContainer`, `CreatePodSandbox`, ... */
  readonly action: Action;
  /** The container's name. For a sandbox `name_namespace(uid)`. */
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
