import { type ClaimInfo, claimKey, withoutPod } from './claim-info.ts';
import { callDrivers, claimsByDriver } from './driver-calls.ts';
import type { ClaimWorkParts } from './preparer.ts';

/** Unprepares the claims of pods (`unprepareResources` in `pkg/kubelet/cm/dra/manager.go`). */
export class Unpreparer {
  readonly #parts: ClaimWorkParts;
  /** Whether a claim was removed from the cache, but may still be in the file on disk. */
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
    const { cache, locks } = this.#parts;
    const keys = cache.keysOf(podUid);
    if (keys.length === 0) return this.#flush();
    await locks.run(keys, () => this.#unprepare(podUid, keys, signal), signal);
  }

  async #unprepare(podUid: string, keys: readonly string[], signal: AbortSignal): Promise<void> {
    const { cache, plugins, noted } = this.#parts;
    const own = keys.flatMap((key) => cache.get(key) ?? []).filter(({ podUids }) => podUids.has(podUid));
    const last = own.filter(({ podUids }) => podUids.size === 1);
    // The claims no longer count as prepared, even if this call fails: a pod that shares a claim later must prepare it
    // again.
    for (const info of last) cache.set({ ...info, isPrepared: false });
    const { results, failure } = await callDrivers(
      { plugins, noted },
      { podUid, step: 'unprepare' },
      claimsByDriver(last),
      (plugin, batch) => plugin.unprepare(batch, signal),
      signal,
    );
    const isDone = ({ drivers }: ClaimInfo): boolean => [...drivers.keys()].every((driver) => results.has(driver));
    for (const info of last) if (isDone(info)) cache.delete(claimKey(info));
    for (const info of own) if (!last.includes(info)) cache.set(withoutPod(info, podUid));
    this.#isUnwritten = true;
    await this.#flush();
    if (failure !== undefined) throw failure.error;
  }

  async #flush(): Promise<void> {
    if (!this.#isUnwritten) return;
    await this.#parts.record.write();
    this.#isUnwritten = false;
  }
}
