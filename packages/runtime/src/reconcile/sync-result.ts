import type { PodSyncResult, SyncFailure, SyncResult } from '@node-agent/contracts';
import { PodRuntimeError } from '../errors.ts';

/** Steps of a sync, with upstream's names (`pkg/kubelet/container/sync_result.go`). */
export type SyncAction =
  | 'StartContainer'
  | 'KillContainer'
  | 'RemoveContainer'
  | 'CreatePodSandbox'
  | 'ConfigPodSandbox'
  | 'KillPodSandbox'
  | 'ResizePodInPlace';

/** One step of a sync of {@link PodRuntime}. */
export type RuntimeSyncResult = SyncResult<SyncAction>;

/**
 * Outcome of a sync of {@link PodRuntime}. The error has `retryAtMs` if all failures are waits, such as a back-off, of
 * which the first ends at this time.
 */
export type RuntimePodSyncResult = PodSyncResult<SyncAction, PodRuntimeError>;

/** Collects the results of one sync. */
export class SyncResults {
  readonly #results: RuntimeSyncResult[] = [];
  #failure: unknown;
  #isOutdated = false;

  add(action: SyncAction, target: string, error?: SyncFailure): void {
    this.#results.push(error === undefined ? { action, target } : { action, target, error });
  }

  /** Records a failure that belongs to no step. Only the first failure without a step is kept. */
  fail(failure: Error): void {
    this.#failure ??= failure;
  }

  /** Notes that the sync's status was too old to continue. */
  outdated(): void {
    this.#isOutdated = true;
  }

  done(): RuntimePodSyncResult {
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
    // A retry time is returned only if every failure has one. Otherwise the caller's own back-off applies.
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
