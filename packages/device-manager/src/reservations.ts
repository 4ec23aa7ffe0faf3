/** Devices that are reserved while a plugin is being called to allocate them. */
export class Reservations {
  readonly #taken = new Map<string, Map<readonly string[], string>>();

  of(resource: string): Iterable<string> {
    return [...(this.#taken.get(resource)?.keys() ?? [])].flat();
  }

  /** Returns whether a pod has any reserved devices of the resource. */
  has(resource: string, podUid: string): boolean {
    return [...(this.#taken.get(resource)?.values() ?? [])].includes(podUid);
  }

  /** Reserves devices. @returns a function that releases the devices */
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
