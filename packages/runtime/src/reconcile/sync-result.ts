import { PodRuntimeError } from '../errors.ts';

/** The steps of a sync, as upstream names them (`pkg/kubelet/container/sync_result.go`). */
export type SyncAction =
  | 'StartContainer'
  | 'KillContainer'
  | 'RemoveContainer'
  | 'CreatePodSandbox'
  | 'ConfigPodSandbox'
  | 'KillPodSandbox'
  | 'ResizePodInPlace';

/** Why a step failed, as `status.containerStatuses[].state.waiting` shows it. */
export interface SyncFailure {
  /** `CrashLoopBackOff`, `CreateContainerError`, `ErrImagePull`, ... */
  readonly reason: string;
  readonly message: string;
  /** When the step may be tried again, by the monotonic clock, where it has to wait for an instant. */
  readonly retryAtMs?: number;
}

/** One step of a pod's sync, and how it went. */
export interface SyncResult {
  readonly action: SyncAction;
  /** The container's name; for a sandbox `name_namespace(uid)`. */
  readonly target: string;
  readonly error?: SyncFailure;
}

/** What a sync came to. */
export interface PodSyncResult {
  readonly results: readonly SyncResult[];
  /**
   * The runtime has more to tell than the status that the sync was given: containers of the pod are to begin anew, which its status has to say
   * first. Nothing was done; the pod is to be read, and synced, again.
   */
  readonly isOutdated?: true;
  /** All that went wrong or has to wait, in one error. It has `retryAtMs` where all that is left is to wait. */
  readonly error?: PodRuntimeError;
}

/** Gathers the results of one sync. */
export class SyncResults {
  readonly #results: SyncResult[] = [];
  #failure: unknown;
  #isOutdated = false;

  add(action: SyncAction, target: string, error?: SyncFailure): void {
    this.#results.push(error === undefined ? { action, target } : { action, target, error });
  }

  /** Notes something that went wrong and belongs to no step; the first one counts. */
  fail(failure: Error): void {
    this.#failure ??= failure;
  }

  /** Notes that the sync was given too old a status to go on with. */
  outdated(): void {
    this.#isOutdated = true;
  }

  done(): PodSyncResult {
    const results = this.#results;
    const failures = results.flatMap(({ error }) => error ?? []);
    if (this.#failure === undefined && failures.length === 0) {
      return this.#isOutdated ? { results, isOutdated: true } : { results };
    }

    const messages: string[] = [];
    if (this.#failure instanceof Error) messages.push(`failed to SyncPod: ${this.#failure.message}`);
    for (const { action, target, error } of results) {
      if (error === undefined) continue;
      messages.push(`failed to "${action}" for "${target}" with ${error.reason}: ${JSON.stringify(error.message)}`);
    }
    const message = messages.length === 1 ? messages.join() : `[${messages.join(', ')}]`;
    // Where something else failed too, the caller's own back-off is for that.
    const instants = failures.flatMap(({ retryAtMs }) => retryAtMs ?? []);
    const onlyWaits = this.#failure === undefined && instants.length === failures.length;
    return {
      results,
      error: new PodRuntimeError('SyncPod', message, {
        cause: this.#failure,
        ...(onlyWaits && { retryAtMs: Math.min(...instants) }),
      }),
    };
  }
}
