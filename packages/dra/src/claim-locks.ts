import { KeyedMutex } from '@node-agent/async';

/**
 * Locks of claims. A claim is prepared or unprepared for one pod at a time. A pod that shares a claim with another pod
 * must not start while the claim is being unprepared for that other pod. Pods with other claims do not wait.
 */
export class ClaimLocks {
  readonly #locks = new KeyedMutex<string>();

  /**
   * Runs work while all claims with the given keys are locked. @throws the signal's reason, if the signal is aborted
   * before the work starts
   */
  async run<T>(keys: readonly string[], work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    // The locks are taken in a fixed order, so that no two pods wait for each other.
    const ordered = [...new Set(keys)].sort();
    const nested = ordered.reduceRight<() => Promise<T>>(
      (inner, key) => () => this.#locks.run(key, inner, signal),
      work,
    );
    return await nested();
  }
}
