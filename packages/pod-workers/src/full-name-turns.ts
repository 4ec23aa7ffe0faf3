/**
 * Serializes static pods that share a full name (P4): one pod holds the name, the others queue in order of arrival.
 * Upstream: `startedStaticPodsByFullname` and `waitingToStartStaticPodsByFullname` in `pkg/kubelet/pod_workers.go`.
 */
export class FullNameTurns {
  readonly #holders = new Map<string, string>();
  readonly #queues = new Map<string, string[]>();

  /** Adds a pod to the end of the queue. */
  join(fullName: string, uid: string): void {
    const queue = this.#queues.get(fullName);
    if (queue === undefined) this.#queues.set(fullName, [uid]);
    else queue.push(uid);
  }

  /** Moves a queued pod to the front of the queue, because the pod already runs. */
  advance(fullName: string, uid: string): void {
    const queue = this.#queues.get(fullName);
    if (queue?.includes(uid)) this.#queues.set(fullName, [uid, ...queue.filter((waiting) => waiting !== uid)]);
  }

  /**
   * Gives the name to the pod if the name is free and the pod is first in the queue. Returns whether the pod holds the
   * name now.
   */
  take(fullName: string, uid: string): boolean {
    const holder = this.#holders.get(fullName);
    if (holder !== undefined) return holder === uid;
    if (this.#queues.get(fullName)?.[0] !== uid) return false;
    this.#removeFromQueue(fullName, uid);
    this.#holders.set(fullName, uid);
    return true;
  }

  /**
   * Releases the pod's name, or removes the pod from the queue.
   * @returns the UID of the pod that may take the name now, if any
   */
  leave(fullName: string, uid: string): string | undefined {
    if (this.#holders.get(fullName) === uid) this.#holders.delete(fullName);
    else this.#removeFromQueue(fullName, uid);
    return this.#holders.has(fullName) ? undefined : this.#queues.get(fullName)?.[0];
  }

  /** Returns the UID of the pod that holds the name. */
  holder(fullName: string): string | undefined {
    return this.#holders.get(fullName);
  }

  /** Number of held names and of queues, for leak checks in tests. */
  get size(): number {
    return this.#holders.size + this.#queues.size;
  }

  #removeFromQueue(fullName: string, uid: string): void {
    const queue = (this.#queues.get(fullName) ?? []).filter((waiting) => waiting !== uid);
    if (queue.length === 0) this.#queues.delete(fullName);
    else this.#queues.set(fullName, queue);
  }
}
