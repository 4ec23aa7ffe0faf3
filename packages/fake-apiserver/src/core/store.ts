import { clone, type JsonObject, metadataOf } from './json.ts';

/** A write, as watches report it. */
export interface Change {
  readonly revision: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** Name of the collection. */
  readonly storage: string;
  /** `namespace/name`, or the name of a cluster-scoped object. */
  readonly key: string;
  /** The object after the write. For a deletion, its last state with the revision of the deletion. */
  readonly object: JsonObject;
  /** The object before the write. */
  readonly previous: JsonObject | undefined;
}

/** Options of a {@link Store}. */
export interface StoreOptions {
  /** Number of past writes that are kept. Default: 5000. */
  readonly historyLimit?: number;
  /** Revision of the empty store. Default: 1. */
  readonly revision?: number;
}

/**
 * Stores objects with one revision counter for all of them, as etcd does. Every write increments the revision. Stored
 * and returned objects are never modified. Recent states can be read until they are compacted.
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

  /** The oldest revision that can be read or watched from. */
  get compactedRevision(): number {
    return this.#compacted;
  }

  get(storage: string, key: string): JsonObject | undefined {
    return this.#collections.get(storage)?.get(key);
  }

  /** Returns every object of a collection, by key. */
  list(storage: string): ReadonlyMap<string, JsonObject> {
    return this.#collections.get(storage) ?? new Map();
  }

  /** Returns the collection at a past revision. Returns `undefined` if the revision is compacted. */
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

  /**
   * Stores an object.
   * @returns the stored object with its new resource version
   */
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

  /**
   * Deletes an object.
   * @returns its last state with the revision of the deletion
   */
  delete(storage: string, key: string): JsonObject | undefined {
    const previous = this.get(storage, key);
    if (previous === undefined) return undefined;
    this.#collections.get(storage)?.delete(key);
    const object = this.#stamped(previous);
    this.#publish({ revision: this.#revision, type: 'DELETED', storage, key, object, previous });
    return object;
  }

  /** Returns the writes to a collection after a revision. Returns `undefined` if some of the writes are compacted. */
  changesSince(storage: string, revision: number): readonly Change[] | undefined {
    if (revision < this.#compacted) return undefined;
    return this.#history.filter((change) => change.revision > revision && change.storage === storage);
  }

  /**
   * Calls `listener` synchronously during every write.
   * @returns a function that removes the listener
   */
  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Increments the revision without a write, as writes to objects outside this store would. */
  tick(): void {
    this.#revision++;
  }

  /** Discards the history before a revision. */
  compact(revision: number = this.#revision): void {
    this.#compacted = Math.max(this.#compacted, Math.min(revision, this.#revision));
    this.#history = this.#history.filter((change) => change.revision > this.#compacted);
  }

  /** Deletes everything and resets the revision. Listeners are not called. */
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
    // The history is truncated in batches, because each truncation copies the remaining entries.
    if (this.#history.length > this.#historyLimit * 1.5) {
      this.#history = this.#history.slice(-this.#historyLimit);
      this.#compacted = (this.#history[0]?.revision ?? this.#revision + 1) - 1;
    }
    for (const listener of [...this.#listeners]) listener(change);
  }
}
