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
   * Replaces the whole content by `objects`, in time slices. Feeds only receive objects that changed. After the first
   * list, they receive all changes of a list at once, because a consumer may have to sort them.
   * @throws the signal's reason; the content is then unchanged, or incomplete if no list was complete before
   */
  async replace(
    objects: ReadonlyMap<string, T>,
    slice: Pick<TimeSlice, 'isDue' | 'pause'>,
    signal?: AbortSignal,
  ): Promise<void> {
    const gone: T[] = [];
    for (const [key, object] of this.#objects) {
      if (!objects.has(key)) gone.push(object);
      if (slice.isDue()) await slice.pause(signal);
    }
    const changed: T[] = [];
    for (const [key, object] of objects) {
      const previous = this.#objects.get(key);
      if (previous !== undefined && isSameVersion(previous, object)) continue;
      if (this.#synced) changed.push(object);
      else this.set(object);
      if (slice.isDue()) await slice.pause(signal);
    }
    for (const object of gone) this.delete(object);
    for (const object of changed) this.set(object);
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
