import type { ObjectChanges } from './change-feed.ts';

/**
 * A local copy of a collection for a reader: the reader's own `Reflector`, or a view of a reflector that several
 * readers share.
 */
export interface WatchedObjects<T> {
  /** The objects by `namespace/name` (or only the name). The objects are never modified in place. */
  readonly objects: ReadonlyMap<string, T>;
  /** Whether the whole collection has been read at least once. */
  readonly hasSynced: boolean;
  /** Resolves once {@link hasSynced} is true. @throws the signal's reason */
  waitForSync(signal?: AbortSignal): Promise<void>;
  /** Returns a feed of changes for one consumer. The feed starts with all existing objects. */
  changes(): ObjectChanges<T>;
  /** Ends the reflector's current back-off, so that its next request is sent now. */
  retryNow(): void;
  /** Makes the reflector list the collection again, because the known objects may come from another data store. */
  listAnew(): void;
  /** Follows the collection until `signal` is aborted; then all feeds of {@link changes} close. */
  start(signal: AbortSignal): Promise<void>;
}
