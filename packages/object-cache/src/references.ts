/** Who refers to an object, and how often. */
export class References {
  readonly #counts = new Map<string, number>();

  /** Those who refer. */
  get podUids(): readonly string[] {
    return [...this.#counts.keys()];
  }

  get empty(): boolean {
    return this.#counts.size === 0;
  }

  add(podUid: string): void {
    this.#counts.set(podUid, (this.#counts.get(podUid) ?? 0) + 1);
  }

  /** Takes one away; where the pod has none, nothing. */
  delete(podUid: string): void {
    const count = this.#counts.get(podUid) ?? 0;
    if (count > 1) this.#counts.set(podUid, count - 1);
    else this.#counts.delete(podUid);
  }
}
