/** Devices that are about to be held: a plugin is being asked for them. */
export class Reservations {
  readonly #taken = new Map<string, Set<readonly string[]>>();

  of(resource: string): Iterable<string> {
    return [...(this.#taken.get(resource) ?? [])].flat();
  }

  /** @returns how they are let go */
  take(resource: string, ids: readonly string[]): () => void {
    const taken = this.#taken.get(resource) ?? new Set<readonly string[]>();
    this.#taken.set(resource, taken);
    taken.add(ids);
    return () => {
      taken.delete(ids);
      if (taken.size === 0 && this.#taken.get(resource) === taken) this.#taken.delete(resource);
    };
  }
}
