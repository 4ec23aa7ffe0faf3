/**
 * Whose turn it is among static pods of one full name (P4): one has the name, the others stand in line in the order in which they
 * came. `startedStaticPodsByFullname` and `waitingToStartStaticPodsByFullname` of `pkg/kubelet/pod_workers.go`.
 */
export class FullNameTurns {
  readonly #holders = new Map<string, string>();
  readonly #lines = new Map<string, string[]>();

  /** Puts a pod at the end of the line. */
  join(fullName: string, uid: string): void {
    const line = this.#lines.get(fullName);
    if (line === undefined) this.#lines.set(fullName, [uid]);
    else line.push(uid);
  }

  /** Puts a pod that waits before all others: it runs already. */
  advance(fullName: string, uid: string): void {
    const line = this.#lines.get(fullName);
    if (line?.includes(uid)) this.#lines.set(fullName, [uid, ...line.filter((waiting) => waiting !== uid)]);
  }

  /** Gives the name to the pod if nobody has it and no one is before it in line; whether it has the name now. */
  take(fullName: string, uid: string): boolean {
    const holder = this.#holders.get(fullName);
    if (holder !== undefined) return holder === uid;
    if (this.#lines.get(fullName)?.[0] !== uid) return false;
    this.#removeFromLine(fullName, uid);
    this.#holders.set(fullName, uid);
    return true;
  }

  /**
   * The pod gives up the name or its place in line.
   * @returns the pod that may take the name now, if any
   */
  leave(fullName: string, uid: string): string | undefined {
    if (this.#holders.get(fullName) === uid) this.#holders.delete(fullName);
    else this.#removeFromLine(fullName, uid);
    return this.#holders.has(fullName) ? undefined : this.#lines.get(fullName)?.[0];
  }

  /** Who has the name. */
  holder(fullName: string): string | undefined {
    return this.#holders.get(fullName);
  }

  /** How many pods have a name or wait for one: a leak check. */
  get size(): number {
    return this.#holders.size + this.#lines.size;
  }

  #removeFromLine(fullName: string, uid: string): void {
    const line = (this.#lines.get(fullName) ?? []).filter((waiting) => waiting !== uid);
    if (line.length === 0) this.#lines.delete(fullName);
    else this.#lines.set(fullName, line);
  }
}
