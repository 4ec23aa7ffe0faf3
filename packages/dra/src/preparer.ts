import type { Pod } from '@node-agent/pod-spec';
import { errorText } from '@node-agent/telemetry';
import type { ClaimCache } from './claim-cache.ts';
import { type ClaimInfo, claimKey, newClaimInfo, withDevices, withoutPod, withPod } from './claim-info.ts';
import type { ClaimLocks } from './claim-locks.ts';
import { claimProblem } from './claim-problem.ts';
import type { ClaimRecord } from './claim-record.ts';
import { deviceConflicts } from './device-conflicts.ts';
import type { DraPlugins } from './dra-plugins.ts';
import { callDrivers, claimsByDriver } from './driver-calls.ts';
import { DraError } from './errors.ts';
import type { NotedWait } from './noted-wait.ts';
import { type ClaimGates, type ClaimReference, podClaims } from './pod-claims.ts';
import { allocatedDevices, type ResourceClaim } from './resource-claim.ts';

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

  constructor(parts: ClaimWorkParts & { readonly source: ClaimSource; readonly gates: ClaimGates }) {
    this.#parts = parts;
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
    await locks.run([...claims.keys()], () => this.#prepare(pod, [...claims.values()], signal), signal);
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

  async #prepare(pod: Pod, claims: readonly ResourceClaim[], signal: AbortSignal): Promise<void> {
    const { cache, record, plugins, noted } = this.#parts;
    const podUid = pod.metadata.uid;
    for (const claim of claims) await this.#learnHolders(claim, signal);
    // There is no `await` from here to the end of the loop, so that no other pod can get a device in between.
    const wanted = claims.map((claim) => this.#wanted(claim));
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
   * Returns the state of a claim, updated with the allocation that the API server reports. @throws DraError
   * `ClaimUnusable`, `DeviceInUse`
   */
  #wanted(claim: ResourceClaim): ClaimInfo {
    const { cache } = this.#parts;
    const fresh = newClaimInfo(claim);
    const known = cache.get(claimKey(fresh));
    if (known?.isPrepared && known.uid === fresh.uid) return known;
    if (known !== undefined && known.uid !== fresh.uid) {
      const message = `old ResourceClaim with same name ${fresh.name} and different UID ${known.uid} still exists (previous pod force-deleted?!)`;
      throw new DraError('ClaimUnusable', message);
    }
    const [conflict] = deviceConflicts(fresh, fresh.allocated ?? [], cache.all());
    if (conflict !== undefined) {
      const { device, holder } = conflict;
      const message = `ResourceClaim ${fresh.name}: device ${device} is still used by ResourceClaim ${claimKey(holder)}`;
      throw new DraError('DeviceInUse', message);
    }
    if (known === undefined) return fresh;
    return { ...known, allocated: fresh.allocated, drivers: new Map([...fresh.drivers, ...known.drivers]) };
  }

  /**
   * Reads from the API server those claims of an earlier process that may hold devices of this claim. The checkpoint
   * does not contain whether a claim has admin access to its devices, nor the devices of a claim whose preparation was
   * interrupted.
   */
  async #learnHolders(claim: ResourceClaim, signal: AbortSignal): Promise<void> {
    const { cache } = this.#parts;
    const fresh = newClaimInfo(claim);
    const conflicts = deviceConflicts(fresh, fresh.allocated ?? [], cache.all());
    const uncertain = conflicts.filter(({ isCertain }) => !isCertain).map(({ holder }) => holder);
    const interrupted = [...cache.all()].filter(
      (info) => claimKey(info) !== claimKey(fresh) && isInterrupted(info, fresh.drivers),
    );
    for (const holder of new Set([...uncertain, ...interrupted])) {
      const read = await this.#fetchHolder(fresh, holder, signal);
      const known = cache.get(claimKey(holder));
      const allocated = read && allocatedDevices(read);
      if (known === undefined || allocated === undefined || read?.metadata.uid !== known.uid) continue;
      cache.set({ ...known, allocated });
    }
  }

  async #fetchHolder(claim: ClaimInfo, holder: ClaimInfo, signal: AbortSignal): Promise<ResourceClaim | undefined> {
    try {
      return await this.#fetch(holder.namespace, holder.name, signal);
    } catch (cause) {
      signal.throwIfAborted();
      // The API server refuses to show a node the claim of a pod that was deleted by force.
      const unknown = `unknown whether its devices are still used by ResourceClaim ${claimKey(holder)}`;
      throw new DraError('ClaimUnusable', `ResourceClaim ${claim.name}: ${unknown}: ${errorText(cause)}`, { cause });
    }
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

/**
 * Reports whether a claim of an earlier process may hold devices of the given drivers that are not in the checkpoint.
 */
function isInterrupted({ allocated, drivers }: ClaimInfo, of: ClaimInfo['drivers']): boolean {
  return allocated === undefined && [...drivers].some(([driver, devices]) => devices.length === 0 && of.has(driver));
}
