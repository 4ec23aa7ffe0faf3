import { PodRuntimeError } from './errors.ts';

/** The steps of a sync, as upstream names them (`pkg/kubelet/container/sync_result.go`). */
export type SyncAction =
  | 'StartContainer'
  | 'KillContainer'
  | 'RemoveContainer'
  | 'CreatePodSandbox'
  | 'ConfigPodSandbox'
  | 'KillPodSandbox';

/** Why a step failed, as `status.containerStatuses[].state.waiting` shows it. */
export interface SyncFailure {
  /** `CrashLoopBackOff`, `CreateContainerError`, `ErrImagePull`, ... */
  readonly reason: string;
  readonly message: string;
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
  /** All that went wrong or has to wait, in one error; its `retryAfterMs` says when to come back at the latest. */
  readonly error?: PodRuntimeError;
}

/** Gathers the results of one sync. */
export class SyncResults {
  readonly #results: SyncResult[] = [];
  #retryAfterMs: number | undefined;
  #failure: string | undefined;

  add(action: SyncAction, target: string, error?: SyncFailure): void {
    this.#results.push(error === undefined ? { action, target } : { action, target, error });
  }

  /** Notes something that went wrong and belongs to no step. */
  fail(message: string): void {
    this.#failure ??= message;
  }

  /** Notes that more can be done in so many ms. */
  retryAfter(ms: number): void {
    this.#retryAfterMs = Math.min(this.#retryAfterMs ?? Number.POSITIVE_INFINITY, ms);
  }

  get failed(): boolean {
    return this.#failure !== undefined || this.#results.some(({ error }) => error !== undefined);
  }

  done(): PodSyncResult {
    const results = this.#results;
    if (!this.failed) return { results };
    const messages = this.#failure === undefined ? [] : [`failed to SyncPod: ${this.#failure}`];
    for (const { action, target, error } of results) {
      if (error === undefined) continue;
      messages.push(`failed to "${action}" for "${target}" with ${error.reason}: ${JSON.stringify(error.message)}`);
    }
    const message = messages.length === 1 ? messages.join() : `[${messages.join(', ')}]`;
    // Where something else failed too, the caller's own back-off is for that.
    const onlyWaits = this.#failure === undefined && results.every(({ error }) => isWait(error));
    const retryAfterMs = onlyWaits ? this.#retryAfterMs : undefined;
    return {
      results,
      error: new PodRuntimeError('SyncPod', message, retryAfterMs === undefined ? {} : { retryAfterMs }),
    };
  }
}

function isWait(error: SyncFailure | undefined): boolean {
  return error === undefined || error.reason === 'CrashLoopBackOff';
}
