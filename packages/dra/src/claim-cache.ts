import { type ClaimInfo, claimKey } from './claim-info.ts';

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

  /** Returns the keys of the claims that a pod refers to. */
  keysOf(podUid: string): readonly string[] {
    return [...(this.#byPod.get(podUid) ?? [])];
  }

  /** Returns the UIDs of all pods that refer to claims. */
  podUids(): readonly string[] {
    return [...this.#byPod.keys()];
  }

  set(info: ClaimInfo): void {
    this.#replace(claimKey(info), info);
  }

  /** Changes the state of a claim, unless the claim was removed or replaced by another one of the same name. */
  update(claim: Pick<ClaimInfo, 'uid' | 'namespace' | 'name'>, change: (info: ClaimInfo) => ClaimInfo): void {
    const info = this.#claims.get(claimKey(claim));
    if (info !== undefined && info.uid === claim.uid) this.set(change(info));
  }

  delete(key: string): void {
    this.#replace(key, undefined);
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
