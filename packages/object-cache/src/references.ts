/** Counts the references of pods to an object. */
export class References {
  readonly #counts = new Map<string, number>();

  /** The UIDs of the referring pods. */
  get podUids(): readonly string[] {
    return [...this.#counts.keys()];
  }

  get empty(): boolean {
    return this.#counts.size === 0;
  }

  add(podUid: string): void {
    this.#counts.set(podUid, (this.#counts.get(podUid) ?? 0) + 1);
  }

  /** Removes one reference. Does nothing if the pod has none. */
  delete(podUid: string): void {
    const count = this.#counts.get(podUid) ?? 0;
    if (count > 1) this.#counts.set(podUid, count - 1);
    else this.#counts.delete(podUid);
  }
}
