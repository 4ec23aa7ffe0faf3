import { clone, type JsonObject, metadataOf } from './json.ts';

/** One write, as watches tell it. */
export interface Change {
  readonly revision: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** The collection that it is of. */
  readonly storage: string;
  /** `namespace/name`, or the name alone. */
  readonly key: string;
  /** As it is after the write; of a deleted one the last state, with the revision of its deletion. */
  readonly object: JsonObject;
  /** As it was before. */
  readonly previous: JsonObject | undefined;
}

/** How a {@link Store} is. */
export interface StoreOptions {
  /** How many writes watches can go back; 5000 by default. */
  readonly historyLimit?: number;
  /** The revision of the empty store; 1 by default. */
  readonly revision?: number;
}

/**
 * Objects with one revision over all of them, as etcd keeps them: every write makes the next one. Objects that were put or
 * handed out are never changed; the recent past can be read back, until it is compacted.
 */
export class Store {
  readonly #historyLimit: number;
  readonly #collections = new Map<string, Map<string, JsonObject>>();
  readonly #listeners = new Set<(change: Change) => void>();
  #history: Change[] = [];
  #revision: number;
  #compacted: number;

  constructor({ historyLimit = 5000, revision = 1 }: StoreOptions = {}) {
    this.#historyLimit = historyLimit;
    this.#revision = revision;
    this.#compacted = revision;
  }

  get revision(): number {
    return this.#revision;
  }

  /** The oldest revision that can be read, or watched from. */
  get compactedRevision(): number {
    return this.#compacted;
  }

  get(storage: string, key: string): JsonObject | undefined {
    return this.#collections.get(storage)?.get(key);
  }

  /** Every object of a collection, by key. */
  list(storage: string): ReadonlyMap<string, JsonObject> {
    return this.#collections.get(storage) ?? new Map();
  }

  /** The collection as it was; `undefined` where that is compacted. */
  listAt(storage: string, revision: number): ReadonlyMap<string, JsonObject> | undefined {
    if (revision < this.#compacted) return undefined;
    const state = new Map(this.list(storage));
    for (const change of this.#history.toReversed()) {
      if (change.revision <= revision) break;
      if (change.storage !== storage) continue;
      if (change.previous === undefined) state.delete(change.key);
      else state.set(change.key, change.previous);
    }
    return state;
  }

  /** The object as it is stored, with its new resource version. */
  put(storage: string, key: string, object: JsonObject): JsonObject {
    const previous = this.get(storage, key);
    const stored = this.#stamped(object);
    let collection = this.#collections.get(storage);
    if (collection === undefined) {
      collection = new Map();
      this.#collections.set(storage, collection);
    }
    collection.set(key, stored);
    const type = previous === undefined ? 'ADDED' : 'MODIFIED';
    this.#publish({ revision: this.#revision, type, storage, key, object: stored, previous });
    return stored;
  }

  /** The last state of the object, with the revision of its deletion. */
  delete(storage: string, key: string): JsonObject | undefined {
    const previous = this.get(storage, key);
    if (previous === undefined) return undefined;
    this.#collections.get(storage)?.delete(key);
    const object = this.#stamped(previous);
    this.#publish({ revision: this.#revision, type: 'DELETED', storage, key, object, previous });
    return object;
  }

  /** The writes to a collection after a revision; `undefined` where some of them are compacted. */
  changesSince(storage: string, revision: number): readonly Change[] | undefined {
    if (revision < this.#compacted) return undefined;
    return this.#history.filter((change) => change.revision > revision && change.storage === storage);
  }

  /** Calls `listener` at every write, while the write is under way; what is returned ends it. */
  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Makes the next revision without a write, as writes to what is not stored here do. */
  tick(): void {
    this.#revision++;
  }

  /** Forgets what was before a revision. */
  compact(revision: number = this.#revision): void {
    this.#compacted = Math.max(this.#compacted, Math.min(revision, this.#revision));
    this.#history = this.#history.filter((change) => change.revision > this.#compacted);
  }

  /** Everything is gone, and revisions begin again: nobody is told. */
  wipe(revision: number): void {
    this.#collections.clear();
    this.#history = [];
    this.#revision = revision;
    this.#compacted = revision;
  }

  #stamped(object: JsonObject): JsonObject {
    const copy = clone(object);
    this.#revision++;
    metadataOf(copy).resourceVersion = String(this.#revision);
    return copy;
  }

  #publish(change: Change): void {
    this.#history.push(change);
    // Cut in batches: cutting one by one would copy the rest each time.
    if (this.#history.length > this.#historyLimit * 1.5) {
      this.#history = this.#history.slice(-this.#historyLimit);
      this.#compacted = (this.#history[0]?.revision ?? this.#revision + 1) - 1;
    }
    for (const listener of [...this.#listeners]) listener(change);
  }
}
