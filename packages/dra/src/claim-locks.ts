import { KeyedMutex } from '@node-agent/async';
import { type ClaimInfo, claimKey } from './claim-info.ts';

/**
 * Locks of claims, one for each driver of a claim. A driver prepares or unprepares a claim for one pod at a time. A lock is
 * held only while that driver is called, so that a driver that hangs delays no call of another driver (W6).
 */
export class ClaimLocks {
  readonly #locks = new KeyedMutex<string>();

  /**
   * Runs work while the given claims are locked for a driver. @throws the signal's reason, if the signal is aborted before
   * the work starts
   */
  async run<T>(driver: string, claims: readonly ClaimInfo[], work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    // The locks are taken in a fixed order, so that no two pods wait for each other.
    const keys = [...new Set(claims.map((claim) => `${driver} ${claimKey(claim)}`))].sort();
    const nested = keys.reduceRight<() => Promise<T>>((inner, key) => () => this.#locks.run(key, inner, signal), work);
    return await nested();
  }
}
