import type { TimeSlice } from '@node-agent/async';
import { ChangeFeed, type ObjectChange } from './change-feed.ts';
import { objectKey } from './object-key.ts';
import type { KubeObject } from './resource.ts';

/** The objects of a reflector and the feeds that receive their changes. */
export class ObjectStore<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #feeds = new Set<ChangeFeed<T>>();
  #synced = false;

  get objects(): ReadonlyMap<string, T> {
    return this.#objects;
  }

  /** Whether a complete list has been stored at least once. */
  get synced(): boolean {
    return this.#synced;
  }

  set(object: T): void {
    const key = objectKey(object);
    const previous = this.#objects.get(key);
    this.#objects.set(key, object);
    if (previous === undefined || !isSameVersion(previous, object))
      this.#tell({ type: 'changed', key, object, previous });
  }

  delete(object: T): void {
    const key = objectKey(object);
    if (this.#objects.delete(key)) this.#tell({ type: 'deleted', key, object });
  }

  /**
   * Replaces the whole content by `objects`, in time slices. Feeds only receive objects that changed.
   * @throws the signal's reason; the content is then partly replaced
   */
  async replace(objects: ReadonlyMap<string, T>, slice: TimeSlice, signal?: AbortSignal): Promise<void> {
    for (const [key, object] of [...this.#objects]) {
      if (objects.has(key)) continue;
      this.#objects.delete(key);
      this.#tell({ type: 'deleted', key, object });
      if (slice.isDue()) await slice.pause(signal);
    }
    for (const object of objects.values()) {
      this.set(object);
      if (slice.isDue()) await slice.pause(signal);
    }
    this.markSynced();
  }

  /** Notes that a complete list has been stored, and tells the feeds the first time. */
  markSynced(): void {
    if (this.#synced) return;
    this.#synced = true;
    this.#tell({ type: 'synced' });
  }

  /** Returns a feed that starts with all existing objects. */
  feed(): ChangeFeed<T> {
    const feed = new ChangeFeed<T>(() => void this.#feeds.delete(feed));
    for (const [key, object] of this.#objects) feed.push({ type: 'changed', key, object, previous: undefined });
    if (this.#synced) feed.push({ type: 'synced' });
    this.#feeds.add(feed);
    return feed;
  }

  closeFeeds(): void {
    for (const feed of [...this.#feeds]) feed.close();
  }

  #tell(change: ObjectChange<T>): void {
    for (const feed of this.#feeds) feed.push(change);
  }
}

/** Objects with the same UID and resource version are identical. */
function isSameVersion(a: KubeObject, b: KubeObject): boolean {
  const version = a.metadata.resourceVersion;
  return version !== undefined && version === b.metadata.resourceVersion && a.metadata.uid === b.metadata.uid;
}
