import type { Pod } from '@node-agent/pod-spec';
import { errorText } from '@node-agent/telemetry';
import { type ClaimInfo, claimKey, isPrepared, newClaimInfo, preparing, withDevices, withPod } from './claim-info.ts';
import { claimProblem } from './claim-problem.ts';
import type { ClaimRecord } from './claim-record.ts';
import { deviceConflict, restoredDevices, unknownHolders } from './device-conflicts.ts';
import type { PreparedDevices } from './driver-answers.ts';
import { callDrivers, type DriverCallParts, type DriverStep } from './driver-calls.ts';
import { DraError } from './errors.ts';
import { type ClaimGates, type ClaimReference, podClaims } from './pod-claims.ts';
import { allocatedDevices, type ResourceClaim } from './resource-claim.ts';
import { RestoredClaims } from './restored-claims.ts';

/** Port to the ResourceClaims of the API server. */
export interface ClaimSource {
  /** Returns the ResourceClaim. @returns `undefined` if the claim does not exist */
  get(namespace: string, name: string, signal: AbortSignal): Promise<ResourceClaim | undefined>;
}

/** Dependencies of {@link Preparer} and `Unpreparer`. */
export interface ClaimWorkParts extends DriverCallParts {
  readonly record: ClaimRecord;
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
    const { record, gates, plugins } = this.#parts;
    await record.load();
    const references = podClaims(pod, gates);
    // All checks come before the pod is recorded for a claim. Otherwise a pod that never started would stay recorded
    // until its drivers can be called.
    const read = await Promise.all(references.map((reference) => this.#read(pod, reference, signal)));
    for (const claim of read) for (const { driver } of allocatedDevices(claim) ?? []) plugins.get(driver);
    const claims = new Map(read.map((claim) => [claimKey(newClaimInfo(claim)), claim]));
    const unread = await this.#restored.read([...claims.values()], signal);
    signal.throwIfAborted();
    await this.#prepare(pod.metadata.uid, await this.#addPod(pod, [...claims.values()], unread), signal);
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

  /**
   * Records a pod for its claims, in the cache and on disk. A driver is called only after that, so that the next process
   * can unprepare the claims. @returns the claims @throws DraError
   */
  async #addPod(
    { metadata: { uid } }: Pod,
    claims: readonly ResourceClaim[],
    unread: ReadonlyMap<string, string>,
  ): Promise<readonly ClaimInfo[]> {
    const { cache, record } = this.#parts;
    // There is no `await` from here to the end of the loop, so that no other pod can get a device in between.
    const wanted = claims.map((claim) => this.#wanted(claim, unread));
    for (const info of wanted) cache.set(withPod(info, uid));
    try {
      await record.write();
    } catch (err) {
      for (const info of wanted) if (!info.podUids.has(uid)) cache.removePod(info, uid);
      throw err;
    }
    return wanted;
  }

  async #prepare(podUid: string, claims: readonly ClaimInfo[], signal: AbortSignal): Promise<void> {
    const { cache, record } = this.#parts;
    if (claims.every((claim) => isPrepared(cache.current(claim) ?? claim))) return;
    const step: DriverStep<PreparedDevices> = {
      ...{ podUid, step: 'prepare' },
      isDue: ({ podUids, preparedBy }, driver) => podUids.has(podUid) && !preparedBy.has(driver),
      starting: preparing,
      call: (plugin, batch) => plugin.prepare(batch, signal),
      finished: (info, driver, devices) => withDevices(info, driver, devices.get(info.uid) ?? []),
    };
    await callDrivers(this.#parts, step, claims, signal);
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
    if (known !== undefined && isPrepared(known) && known.uid === fresh.uid) return known;
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
}
