import { CoalescingQueue } from '@node-agent/async';

/**
 * What became of an object since the consumer last looked. `changed`: `previous` is what it was then, `undefined` where the
 * consumer has not seen it; where their UIDs differ, it was deleted and made again in between. `deleted`: `object` is the
 * last that is known of it. `synced`: all objects that there were have been given.
 */
export type ObjectChange<T> =
  | { readonly type: 'changed'; readonly key: string; readonly object: T; readonly previous: T | undefined }
  | { readonly type: 'deleted'; readonly key: string; readonly object: T }
  | { readonly type: 'synced' };

/** What two changes of one object come to, for who has seen neither; `undefined`: nothing. */
export function mergeChanges<T>(waiting: ObjectChange<T>, next: ObjectChange<T>): ObjectChange<T> | undefined {
  if (waiting.type === 'synced' || next.type === 'synced') return next;
  const seen = waiting.type === 'deleted' ? waiting.object : waiting.previous;
  if (next.type === 'changed') return { ...next, previous: seen };
  return seen === undefined ? undefined : next;
}

/** What the consumer of a {@link ChangeFeed} sees of it. */
export type ObjectChanges<T> = Pick<ChangeFeed<T>, Exclude<keyof ChangeFeed<T>, 'push'>>;

/**
 * The changes of a reflector for one consumer: by `for await`, or by {@link take}. At most one waits per object, however
 * slow the consumer, and a busy object holds back no other.
 */
export class ChangeFeed<T> implements AsyncIterable<ObjectChange<T>>, Disposable {
  readonly #queue = new CoalescingQueue<string, ObjectChange<T>>();
  readonly #onClose: () => void;

  constructor(onClose: () => void = () => {}) {
    this.#onClose = onClose;
  }

  /** How many objects have a change that waits. */
  get size(): number {
    return this.#queue.size;
  }

  push(change: ObjectChange<T>): void {
    // No object has this key: a slash is there only between a namespace and a name.
    const key = change.type === 'synced' ? '/' : change.key;
    const waiting = this.#queue.peek(key);
    const merged = waiting === undefined ? change : mergeChanges(waiting, change);
    if (merged === undefined) this.#queue.delete(key);
    else this.#queue.push(key, merged);
  }

  /** The next change; `undefined` once the feed is closed and empty. @throws the signal's reason */
  async take(signal?: AbortSignal): Promise<ObjectChange<T> | undefined> {
    return (await this.#queue.take(signal))?.[1];
  }

  /** Ends it: what waits is still given. */
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
