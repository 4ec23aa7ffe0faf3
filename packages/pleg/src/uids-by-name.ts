/** Name and namespace of a pod. */
interface Named {
  readonly name: string;
  readonly namespace: string;
}

/** UIDs of pods by name and namespace. Several pods may have the same name, one after another. */
export class UidsByName {
  readonly #uids = new Map<string, Set<string>>();

  add(pod: Named, uid: string): void {
    const key = keyOf(pod);
    const known = this.#uids.get(key);
    if (known === undefined) this.#uids.set(key, new Set([uid]));
    else known.add(uid);
  }

  delete(pod: Named, uid: string): void {
    const key = keyOf(pod);
    const known = this.#uids.get(key);
    if (known?.delete(uid) && known.size === 0) this.#uids.delete(key);
  }

  uids(pod: Named): Iterable<string> {
    return this.#uids.get(keyOf(pod)) ?? [];
  }
}

function keyOf({ name, namespace }: Named): string {
  return `${namespace}/${name}`;
}
