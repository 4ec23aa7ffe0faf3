import { type ClaimInfo, unpreparing, withoutDevices } from './claim-info.ts';
import { callDrivers, type DriverStep } from './driver-calls.ts';
import type { ClaimWorkParts } from './preparer.ts';

/** Unprepares the claims of pods (`unprepareResources` in `pkg/kubelet/cm/dra/manager.go`). */
export class Unpreparer {
  readonly #parts: ClaimWorkParts;
  /** Whether a claim was changed in the cache, but may be unchanged in the file on disk. */
  #isUnwritten = false;

  constructor(parts: ClaimWorkParts) {
    this.#parts = parts;
  }

  /**
   * Unprepares the claims that a pod refers to. Drivers are called only for claims that no other pod refers to. If a
   * claim could not be unprepared, the pod stays recorded for that claim.
   * @throws DraError; the signal's reason
   */
  async unprepare(podUid: string, signal: AbortSignal): Promise<void> {
    // Another pod that started to use a claim during the call, so that the claim was left to that pod, may have stopped
    // before the call ended. Then the claim is due again.
    while (this.#parts.cache.claimsOf(podUid).length > 0) await this.#unprepare(podUid, signal);
    await this.#flush();
  }

  async #unprepare(podUid: string, signal: AbortSignal): Promise<void> {
    const { cache } = this.#parts;
    const isLast = ({ podUids }: ClaimInfo): boolean => podUids.size === 1 && podUids.has(podUid);
    const claims = cache.claimsOf(podUid);
    const step: DriverStep<void> = {
      ...{ podUid, step: 'unprepare' },
      isDue: (info, driver) => isLast(info) && info.heldBy.has(driver),
      starting: unpreparing,
      call: (plugin, batch) => plugin.unprepare(batch, signal),
      finished: withoutDevices,
    };
    for (const info of claims) if (!isLast(info)) cache.removePod(info, podUid);
    try {
      await callDrivers(this.#parts, step, claims, signal);
    } finally {
      for (const info of claims) cache.removePod(info, podUid);
      this.#isUnwritten = true;
      await this.#flush();
    }
  }

  async #flush(): Promise<void> {
    if (!this.#isUnwritten) return;
    this.#isUnwritten = false;
    try {
      await this.#parts.record.write();
    } catch (err) {
      this.#isUnwritten = true;
      throw err;
    }
  }
}
