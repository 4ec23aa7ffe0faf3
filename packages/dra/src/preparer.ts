import type { Pod } from '@node-agent/pod-spec';
import { errorText } from '@node-agent/telemetry';
import type { ClaimCache } from './claim-cache.ts';
import { type ClaimInfo, claimKey, newClaimInfo, withDevices, withoutPod, withPod } from './claim-info.ts';
import type { ClaimLocks } from './claim-locks.ts';
import { claimProblem } from './claim-problem.ts';
import type { ClaimRecord } from './claim-record.ts';
import { deviceConflict, restoredDevices, unknownHolders } from './device-conflicts.ts';
import type { DraPlugins } from './dra-plugins.ts';
import { callDrivers, claimsByDriver } from './driver-calls.ts';
import { DraError } from './errors.ts';
import type { NotedWait } from './noted-wait.ts';
import { type ClaimGates, type ClaimReference, podClaims } from './pod-claims.ts';
import { allocatedDevices, type ResourceClaim } from './resource-claim.ts';
import { RestoredClaims } from './restored-claims.ts';

/** Port to the ResourceClaims of the API server. */
export interface ClaimSource {
  /** Returns the ResourceClaim. @returns `undefined` if the claim does not exist */
  get(namespace: string, name: string, signal: AbortSignal): Promise<ResourceClaim | undefined>;
}

/** Dependencies of {@link Preparer} and `Unpreparer`. */
export interface ClaimWorkParts {
  readonly cache: ClaimCache;
  readonly record: ClaimRecord;
  readonly locks: ClaimLocks;
  readonly plugins: DraPlugins;
  readonly noted: NotedWait;
}

/** Prepares the claims of pods (`prepareResources` in `pkg/kubelet/cm/dra/manager.go`). */
export class Preparer {
  readonly #parts: ClaimWorkParts & { readonly source: ClaimSource; readonly gates: ClaimGates };
  readonly #restored: RestoredClaims;

  constructor(parts: ClaimWorkParts & { readonly source: ClaimSource; readonly gates: ClaimGates }) {
    this.#parts = parts;
    this.#restored = new RestoredClaims(parts.cache, parts.source);
  }

  /** Prepares all claims of a pod. @throws DraError; the signal's reason */
  async prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    const { record, locks, gates } = this.#parts;
    await record.load();
    const references = podClaims(pod, gates);
    // All checks come before the pod is recorded for a claim. Otherwise a pod that never started would stay recorded
    // until its drivers can be called.
    const read = await Promise.all(references.map((reference) => this.#read(pod, reference, signal)));
    for (const claim of read) for (const { driver } of allocatedDevices(claim) ?? []) this.#parts.plugins.get(driver);
    const claims = new Map(read.map((claim) => [claimKey(newClaimInfo(claim)), claim]));
    const unread = await this.#restored.read([...claims.values()], signal);
    await locks.run([...claims.keys()], () => this.#prepare(pod, [...claims.values()], unread, signal), signal);
  }

  async #read(pod: Pod, reference: ClaimReference, signal: AbortSignal): Promise<ResourceClaim> {
    const { gates } = this.#parts;
    const { claimName } = reference;
    const claim = await this.#fetch(pod.metadata.namespace, claimName, signal);
    if (claim === undefined) {
      const message = `fetch ResourceClaim ${claimName}: resourceclaims.resource.k8s.io "${claimName}" not found`;
      throw new DraError('ClaimUnusable', message);
    }
    const problem = claimProblem(pod, reference, claim, gates);
    if (problem !== undefined) throw new DraError('ClaimUnusable', problem);
    return claim;
  }

  async #fetch(namespace: string, name: string, signal: AbortSignal): Promise<ResourceClaim | undefined> {
    try {
      return await this.#parts.source.get(namespace, name, signal);
    } catch (cause) {
      signal.throwIfAborted();
      throw new DraError('ClaimUnusable', `fetch ResourceClaim ${name}: ${errorText(cause)}`, { cause });
    }
  }

  async #prepare(
    pod: Pod,
    claims: readonly ResourceClaim[],
    unread: ReadonlyMap<string, string>,
    signal: AbortSignal,
  ): Promise<void> {
    const { cache, record, plugins, noted } = this.#parts;
    const podUid = pod.metadata.uid;
    // There is no `await` from here to the end of the loop, so that no other pod can get a device in between.
    const wanted = claims.map((claim) => this.#wanted(claim, unread));
    const added = wanted.filter(({ podUids }) => !podUids.has(podUid));
    for (const info of wanted) cache.set(withPod(info, podUid));
    try {
      // The pod is recorded on disk before a driver is called, so that the next process can unprepare the claims.
      await record.write();
    } catch (err) {
      for (const info of added) this.#removePod(info, podUid);
      throw err;
    }
    const unprepared = wanted.filter(({ isPrepared }) => !isPrepared);
    if (unprepared.length === 0) return;
    const call = { podUid, step: 'prepare' } as const;
    const { results, failure } = await callDrivers(
      { plugins, noted },
      call,
      claimsByDriver(unprepared),
      (plugin, batch) => plugin.prepare(batch, signal),
      signal,
    );
    for (const info of unprepared) {
      let next = cache.get(claimKey(info)) ?? info;
      for (const [driver, devices] of results) {
        const own = devices.get(info.uid);
        if (own !== undefined) next = withDevices(next, driver, own);
      }
      cache.set(failure === undefined ? { ...next, isPrepared: true } : next);
    }
    if (failure !== undefined) throw failure.error;
    await record.write();
  }

  /**
   * Returns the state of a claim, updated with the allocation that the API server reports. @param unread the claims of
   * the checkpoint that could not be read, with the reasons @throws DraError `ClaimUnusable`, `DeviceInUse`
   */
  #wanted(claim: ResourceClaim, unread: ReadonlyMap<string, string>): ClaimInfo {
    const { cache } = this.#parts;
    const fresh = newClaimInfo(claim);
    const known = cache.get(claimKey(fresh));
    if (known?.isPrepared && known.uid === fresh.uid) return known;
    if (known !== undefined && known.uid !== fresh.uid) {
      const message = `old ResourceClaim with same name ${fresh.name} and different UID ${known.uid} still exists (previous pod force-deleted?!)`;
      throw new DraError('ClaimUnusable', message);
    }
    this.#checkDevices(fresh, unread);
    if (known === undefined) return fresh;
    const allocated = restoredDevices(fresh.allocated ?? [], known);
    return { ...known, allocated, drivers: new Map([...fresh.drivers, ...known.drivers]) };
  }

  /**
   * Checks that no other claim holds a device of this claim. @throws DraError `DeviceInUse` if one does, `ClaimUnusable`
   * if that is unknown
   */
  #checkDevices(fresh: ClaimInfo, unread: ReadonlyMap<string, string>): void {
    const { cache } = this.#parts;
    const conflict = deviceConflict(fresh, cache.all());
    if (conflict !== undefined) {
      const { device, holder } = conflict;
      const message = `ResourceClaim ${fresh.name}: device ${device} is still used by ResourceClaim ${claimKey(holder)}`;
      throw new DraError('DeviceInUse', message);
    }
    const [holder] = unknownHolders(fresh, cache.all());
    if (holder === undefined) return;
    const unknown = `unknown whether its devices are still used by ResourceClaim ${claimKey(holder)}`;
    const reason = unread.get(claimKey(holder)) ?? 'the ResourceClaim was not read';
    throw new DraError('ClaimUnusable', `ResourceClaim ${fresh.name}: ${unknown}: ${reason}`);
  }

  #removePod(added: ClaimInfo, podUid: string): void {
    const { cache } = this.#parts;
    const key = claimKey(added);
    const info = cache.get(key);
    if (info === undefined) return;
    const without = withoutPod(info, podUid);
    if (without.podUids.size === 0) cache.delete(key);
    else cache.set(without);
  }
}
