import { CoalescingQueue } from '@node-agent/async';

/**
 * A change of an object since the consumer last read the feed.
 * - `changed`: `previous` is the object as the consumer last saw it; `undefined` if the consumer has not seen it. If
 *   the UIDs differ, the object was deleted and created again in between.
 * - `deleted`: `object` is the last known state.
 * - `synced`: all objects of the first list have been delivered.
 */
export type ObjectChange<T> =
  | { readonly type: 'changed'; readonly key: string; readonly object: T; readonly previous: T | undefined }
  | { readonly type: 'deleted'; readonly key: string; readonly object: T }
  | { readonly type: 'synced' };

/**
 * Merges two successive changes of one object into one, for a consumer that has not read the first one yet. Returns
 * `undefined` if the changes cancel out (created and deleted).
 */
export function mergeChanges<T>(waiting: ObjectChange<T>, next: ObjectChange<T>): ObjectChange<T> | undefined {
  if (waiting.type === 'synced' || next.type === 'synced') return next;
  const seen = waiting.type === 'deleted' ? waiting.object : waiting.previous;
  if (next.type === 'changed') return { ...next, previous: seen };
  return seen === undefined ? undefined : next;
}

/** The consumer's view of a {@link ChangeFeed}. */
export type ObjectChanges<T> = Pick<ChangeFeed<T>, Exclude<keyof ChangeFeed<T>, 'push'>>;

/**
 * The changes of a reflector for one consumer, read with `for await` or {@link take}. At most one change per object is
 * queued, however slow the consumer is, and an object that changes often does not delay other objects.
 */
export class ChangeFeed<T> implements AsyncIterable<ObjectChange<T>>, Disposable {
  readonly #queue = new CoalescingQueue<string, ObjectChange<T>>();
  readonly #onClose: () => void;

  constructor(onClose: () => void = () => {}) {
    this.#onClose = onClose;
  }

  /** The number of objects whose change is queued and not yet read. */
  get size(): number {
    return this.#queue.size;
  }

  push(change: ObjectChange<T>): void {
    // The key of the `synced` change. No object has the key `/`: a slash only separates a namespace from a name.
    const key = change.type === 'synced' ? '/' : change.key;
    const waiting = this.#queue.peek(key);
    const merged = waiting === undefined ? change : mergeChanges(waiting, change);
    if (merged === undefined) this.#queue.delete(key);
    else this.#queue.push(key, merged);
  }

  /** Returns the next change, or `undefined` once the feed is closed and empty. @throws the signal's reason */
  async take(signal?: AbortSignal): Promise<ObjectChange<T> | undefined> {
    return (await this.#queue.take(signal))?.[1];
  }

  /** Closes the feed. Changes that are already queued are still delivered. */
  close(): void {
    this.#queue.close();
    this.#onClose();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ObjectChange<T>, void, undefined> {
    for await (const [, change] of this.#queue) yield change;
  }
}
