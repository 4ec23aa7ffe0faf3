import { type ClaimInfo, claimKey, withoutPod } from './claim-info.ts';

/** Identity of a claim. Another claim may later have the same name. */
export type ClaimIdentity = Pick<ClaimInfo, 'uid' | 'namespace' | 'name'>;

/** Claims of this node by key, and by the pods that refer to them (`claimInfoCache`). */
export class ClaimCache {
  readonly #onChange: (before: ClaimInfo | undefined, after: ClaimInfo | undefined) => void;
  readonly #claims = new Map<string, ClaimInfo>();
  /** Keys of claims by pod UID. */
  readonly #byPod = new Map<string, Set<string>>();

  constructor(onChange: (before: ClaimInfo | undefined, after: ClaimInfo | undefined) => void) {
    this.#onChange = onChange;
  }

  get(key: string): ClaimInfo | undefined {
    return this.#claims.get(key);
  }

  all(): Iterable<ClaimInfo> {
    return this.#claims.values();
  }

  /** Returns the current state of a claim, or `undefined` if it was removed or replaced by one of the same name. */
  current(claim: ClaimIdentity): ClaimInfo | undefined {
    const info = this.#claims.get(claimKey(claim));
    return info?.uid === claim.uid ? info : undefined;
  }

  /** Returns the claims that a pod refers to. */
  claimsOf(podUid: string): readonly ClaimInfo[] {
    return [...(this.#byPod.get(podUid) ?? [])].flatMap((key) => this.#claims.get(key) ?? []);
  }

  /** Returns the UIDs of all pods that refer to claims. */
  podUids(): readonly string[] {
    return [...this.#byPod.keys()];
  }

  set(info: ClaimInfo): void {
    this.#replace(claimKey(info), info);
  }

  /** Changes the state of a claim, unless the claim was removed or replaced by one of the same name. */
  update(claim: ClaimIdentity, change: (info: ClaimInfo) => ClaimInfo): void {
    const info = this.current(claim);
    if (info !== undefined) this.set(change(info));
  }

  /**
   * Removes a pod from a claim, and the claim with its last pod. The last pod stays as long as a driver may have prepared
   * the claim, so that the claim is unprepared later.
   */
  removePod(claim: ClaimIdentity, podUid: string): void {
    const info = this.current(claim);
    if (info === undefined || !info.podUids.has(podUid)) return;
    if (info.podUids.size > 1) this.set(withoutPod(info, podUid));
    else if (info.heldBy.size === 0) this.#replace(claimKey(info), undefined);
  }

  #replace(key: string, after: ClaimInfo | undefined): void {
    const before = this.#claims.get(key);
    for (const podUid of before?.podUids ?? []) {
      if (after?.podUids.has(podUid)) continue;
      const keys = this.#byPod.get(podUid);
      keys?.delete(key);
      if (keys?.size === 0) this.#byPod.delete(podUid);
    }
    for (const podUid of after?.podUids ?? []) {
      const keys = this.#byPod.get(podUid) ?? new Set();
      this.#byPod.set(podUid, keys.add(key));
    }
    if (after === undefined) this.#claims.delete(key);
    else this.#claims.set(key, after);
    this.#onChange(before, after);
  }
}
