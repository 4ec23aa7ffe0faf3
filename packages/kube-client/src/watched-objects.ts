import type { ObjectChanges } from './change-feed.ts';

/**
 * A local copy of a collection as its readers use it: a `Reflector` of their own, or a view of one that several readers
 * share.
 */
export interface WatchedObjects<T> {
  /** The objects by `namespace/name` (or only the name). They are never modified in place. */
  readonly objects: ReadonlyMap<string, T>;
  /** Whether the whole collection has been read at least once. */
  readonly hasSynced: boolean;
  /** Resolves once {@link hasSynced} is true. @throws the signal's reason */
  waitForSync(signal?: AbortSignal): Promise<void>;
  /** Returns a feed of changes for one consumer. The feed starts with all existing objects. */
  changes(): ObjectChanges<T>;
  /** Ends the current back-off. */
  retryNow(): void;
  /** Lists the collection again, because the known objects may come from another store. */
  listAnew(): void;
  /** Follows the collection until `signal` is aborted; then all feeds of {@link changes} close. */
  start(signal: AbortSignal): Promise<void>;
}
