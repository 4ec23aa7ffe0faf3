import { abortable } from '@node-agent/async';
import { errorText } from '@node-agent/telemetry';
import type { ClaimCache } from './claim-cache.ts';
import { type ClaimInfo, claimKey, isPrepared, newClaimInfo } from './claim-info.ts';
import { restoredDevices, unknownHolders } from './device-conflicts.ts';
import type { ClaimSource } from './preparer.ts';
import { allocatedDevices, type ResourceClaim } from './resource-claim.ts';

/**
 * Reads from the API server which devices the claims of the checkpoint hold. Each claim is read at most once, and only
 * when another claim may need its devices.
 */
export class RestoredClaims {
  readonly #cache: ClaimCache;
  readonly #source: ClaimSource;
  /** Reads in progress, by claim key. They resolve to the reason if the devices could not be read. */
  readonly #reads = new Map<string, Promise<string | undefined>>();

  constructor(cache: ClaimCache, source: ClaimSource) {
    this.#cache = cache;
    this.#source = source;
  }

  /**
   * Reads all claims of the checkpoint that may hold devices of the given claims. @returns for each claim that could not be
   * read the reason, by claim key @throws the signal's reason
   */
  async read(wanted: readonly ResourceClaim[], signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    for (const claim of wanted) this.#learn(claim);
    // A claim that is prepared already got its devices before.
    const fresh = wanted.map(newClaimInfo).filter((claim) => !isPrepared(this.#cache.current(claim) ?? claim));
    const holders = fresh.flatMap((claim) => unknownHolders(claim, this.#cache.all()));
    const reasons = await Promise.all(
      [...new Set(holders)].map(async (holder) => [claimKey(holder), await this.#readShared(holder, signal)] as const),
    );
    return new Map(reasons.flatMap(([key, reason]) => (reason === undefined ? [] : [[key, reason] as const])));
  }

  /** Shares one read of a claim between all pods that wait for it. */
  async #readShared(holder: ClaimInfo, signal: AbortSignal): Promise<string | undefined> {
    const key = claimKey(holder);
    for (;;) {
      const reading = this.#reads.get(key) ?? this.#readOne(holder, signal).finally(() => this.#reads.delete(key));
      this.#reads.set(key, reading);
      try {
        return await abortable(reading, signal);
      } catch {
        signal.throwIfAborted();
        // The read was aborted with the pod that started it, and this pod reads again.
      }
    }
  }

  async #readOne({ uid, namespace, name }: ClaimInfo, signal: AbortSignal): Promise<string | undefined> {
    let claim: ResourceClaim | undefined;
    try {
      claim = await this.#source.get(namespace, name, signal);
    } catch (err) {
      signal.throwIfAborted();
      // The API server refuses to show a node the claim of a pod that was deleted by force.
      return errorText(err);
    }
    if (claim === undefined) return `resourceclaims.resource.k8s.io "${name}" not found`;
    if (claim.metadata.uid !== uid) return 'a new ResourceClaim has the same name';
    return this.#learn(claim) ? undefined : 'the ResourceClaim is no longer allocated';
  }

  /** Stores the devices of a claim of the checkpoint. @returns whether the claim is allocated */
  #learn(claim: ResourceClaim): boolean {
    const allocated = allocatedDevices(claim);
    if (allocated === undefined) return false;
    this.#cache.update(newClaimInfo(claim), (info) =>
      info.allocated === undefined ? { ...info, allocated: restoredDevices(allocated, info) } : info,
    );
    return true;
  }
}
