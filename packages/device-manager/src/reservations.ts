/** Devices that are about to be held: a plugin is being asked for them. */
export class Reservations {
  readonly #taken = new Map<string, Map<readonly string[], string>>();

  of(resource: string): Iterable<string> {
    return [...(this.#taken.get(resource)?.keys() ?? [])].flat();
  }

  /** Whether any is about to be held by a pod. */
  has(resource: string, podUid: string): boolean {
    return [...(this.#taken.get(resource)?.values() ?? [])].includes(podUid);
  }

  /** @returns how they are let go */
  take(resource: string, podUid: string, ids: readonly string[]): () => void {
    const taken = this.#taken.get(resource) ?? new Map<readonly string[], string>();
    this.#taken.set(resource, taken);
    taken.set(ids, podUid);
    return () => {
      taken.delete(ids);
      if (taken.size === 0 && this.#taken.get(resource) === taken) this.#taken.delete(resource);
    };
  }
}
