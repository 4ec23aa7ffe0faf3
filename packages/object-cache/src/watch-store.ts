import { type Clock, every, type Random, Semaphore, withTimeout } from '@node-agent/async';
import { KubeError, Reflector, type Resource } from '@node-agent/kube-client';
import { errorText, type Logger } from '@node-agent/telemetry';
import { ObjectCacheError } from './errors.ts';
import { type ConfigObject, notRegistered, type ObjectClient, type ObjectStore, storeKey } from './object-store.ts';
import { References } from './references.ts';
import { isSuperseded } from './version-rules.ts';
import { isIdle } from './watch-rules.ts';

/** The components of {@link WatchStore}. */
export interface WatchStoreComponents {
  readonly client: ObjectClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface WatchStoreOptions<T> {
  readonly resource: Resource<T>;
  /** Time after which the watch of an object that is not read is closed, in milliseconds. */
  readonly maxIdleMs: number;
  /**
   * Called with the UIDs of the pods that refer to an object that was changed, created or deleted since it was last
   * read.
   */
  readonly onChange?: (podUids: readonly string[]) => void;
}

interface Item<T extends ConfigObject> {
  readonly references: References;
  watch: Watch<T> | undefined;
  /** Time of the last read, by the monotonic clock. */
  lastAccessMs: number;
  /** The last known state of the object when its watch was closed. */
  last: T | undefined;
  /** Whether a read returned before the object was known. The first state is then reported as a change. */
  missed: boolean;
  /**
   * Whether a pod has been added since the last read, so that the next read must compare the object with the API
   * server's.
   */
  unverified: boolean;
  /** Serializes comparisons. */
  readonly verifying: Semaphore;
  /** Time before which no further comparison is made after a failed one, by the monotonic clock. */
  verifyAfterMs: number;
}

interface Watch<T extends ConfigObject> {
  readonly reflector: Reflector<T>;
  readonly stop: AbortController;
}

/**
 * Time that a read waits for the first list and for a comparison, and time to wait after a failed comparison, in
 * milliseconds.
 */
const SYNC_TIMEOUT_MS = 1000;
const IDLE_CHECK_PERIOD_MS = 60_000;
/**
 * Minimum timeout of a watch, in milliseconds: longer than a reflector's default, so that watches of rarely changed
 * objects are not restarted often.
 */
const MIN_WATCH_TIMEOUT_MS = 30 * 60_000;

/**
 * Watches each referenced object with a watch of its own. If another pod starts to refer to an object, its first read
 * compares the object with the API server's: an immutable object may have been deleted and created again, and a watch
 * may hang. Immutable objects and objects that are not read are no longer watched; a read reopens the watch. While the
 * API server is unreachable, reads return the last known state (K3). Source:
 * `pkg/kubelet/util/manager/watch_based_manager.go`.
 */
export class WatchStore<T extends ConfigObject> implements ObjectStore<T> {
  readonly #components: WatchStoreComponents;
  readonly #options: WatchStoreOptions<T>;
  readonly #items = new Map<string, Item<T>>();
  readonly #running = new Set<Promise<void>>();
  #started = false;

  constructor(components: WatchStoreComponents, options: WatchStoreOptions<T>) {
    this.#components = components;
    this.#options = options;
  }

  /** The number of watches that are open or being opened. */
  get watchCount(): number {
    let count = 0;
    for (const { watch } of this.#items.values()) if (watch !== undefined) count++;
    return count;
  }

  /** Starts to watch the object, once the store is started. */
  addReference(namespace: string, name: string, podUid: string): void {
    const key = storeKey(namespace, name);
    const existing = this.#items.get(key);
    if (existing !== undefined) {
      existing.references.add(podUid);
      if (existing.watch === undefined ? existing.last !== undefined : existing.watch.reflector.hasSynced) {
        existing.unverified = true;
      }
      return;
    }
    const lastAccessMs = this.#components.clock.monotonic();
    const item: Item<T> = {
      references: new References(),
      watch: undefined,
      lastAccessMs,
      last: undefined,
      missed: false,
      unverified: false,
      verifying: new Semaphore(1),
      verifyAfterMs: Number.NEGATIVE_INFINITY,
    };
    item.references.add(podUid);
    this.#items.set(key, item);
    if (this.#started) this.#open(key, item);
  }

  deleteReference(namespace: string, name: string, podUid: string): void {
    const key = storeKey(namespace, name);
    const item = this.#items.get(key);
    if (item === undefined) return;
    item.references.delete(podUid);
    if (!item.references.empty) return;
    this.#items.delete(key);
    item.watch?.stop.abort();
  }

  async get(namespace: string, name: string, signal: AbortSignal): Promise<T> {
    const key = storeKey(namespace, name);
    const item = this.#items.get(key);
    if (item === undefined) throw notRegistered(namespace, name);
    item.lastAccessMs = this.#components.clock.monotonic();
    if (item.unverified) {
      await item.verifying.run(() => this.#verify(key, item, { namespace, name }, signal), signal);
      // The item may have been removed in this time, and a watch for a removed item would never be closed (K4).
      if (this.#items.get(key) !== item) throw notRegistered(namespace, name);
    }
    if (item.watch === undefined && item.last?.immutable === true) return item.last;
    if (item.watch === undefined && this.#started) this.#open(key, item);
    const { watch } = item;
    if (watch === undefined) throw this.#notSynced('the store is not started');
    if (!(await this.#hasSynced(watch, signal))) {
      item.missed = true;
      if (item.last !== undefined) return item.last;
      throw this.#notSynced(watch.reflector.lastError ?? 'timed out waiting for the condition');
    }
    const object = watch.reflector.objects.get(key);
    if (object === undefined) throw this.#notFound(name);
    if (object.immutable === true && item.watch === watch) {
      this.#close(key, item);
      this.#components.logger.debug({ object: key }, 'Stopped watching for changes: the object is immutable');
    }
    return object;
  }

  listAnew(): void {
    for (const item of this.#items.values()) {
      // After the server has lost its data, an immutable object may have other content.
      if (item.watch === undefined) item.last = undefined;
      else item.watch.reflector.listAnew();
    }
  }

  async start(signal: AbortSignal): Promise<void> {
    this.#started = true;
    for (const [key, item] of this.#items) this.#open(key, item);
    try {
      await every(this.#components.clock, IDLE_CHECK_PERIOD_MS, () => this.#closeIdle(), signal);
    } finally {
      this.#started = false;
      for (const [key, item] of this.#items) this.#close(key, item);
      while (this.#running.size > 0) await Promise.all(this.#running);
    }
  }

  /**
   * Compares an object that was cached before a pod referred to it with the API server's. If the comparison fails, the
   * cached object is used (K3).
   */
  async #verify(
    key: string,
    item: Item<T>,
    at: { readonly namespace: string; readonly name: string },
    signal: AbortSignal,
  ): Promise<void> {
    const { client, clock, logger } = this.#components;
    if (!item.unverified || clock.monotonic() < item.verifyAfterMs) return;
    // A pod that is added during the request sets this again, because it needs another comparison.
    item.unverified = false;
    let answer: T | undefined;
    try {
      const get = (linked: AbortSignal): Promise<T> => client.get(this.#options.resource, at, linked);
      answer = await withTimeout(clock, SYNC_TIMEOUT_MS, get, signal);
    } catch (error) {
      if (signal.aborted || KubeError.from(error).code !== 'NotFound') {
        item.unverified = true;
        signal.throwIfAborted();
        item.verifyAfterMs = clock.monotonic() + SYNC_TIMEOUT_MS;
        logger.debug({ err: error, object: key }, 'Failed to compare an object with the API server');
        return;
      }
    }
    const known = item.watch === undefined ? item.last : item.watch.reflector.objects.get(key);
    if (!isSuperseded(known, answer)) return;
    logger.info({ object: key, watched: item.watch !== undefined }, 'Object was replaced; reading it again');
    this.#close(key, item);
    item.last = answer;
    // Pods that already use the object have the old content, so the next state is reported as a change.
    item.missed = true;
  }

  /** Waits a short time for the first list. A read also ends the reflector's back-off. */
  async #hasSynced({ reflector }: Watch<T>, signal: AbortSignal): Promise<boolean> {
    if (reflector.hasSynced) return true;
    reflector.retryNow();
    const { clock } = this.#components;
    try {
      await withTimeout(clock, SYNC_TIMEOUT_MS, (linked) => reflector.waitForSync(linked), signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#components.logger.debug({ err: error }, 'Object is not synced yet');
    }
    return reflector.hasSynced;
  }

  #closeIdle(): void {
    const nowMs = this.#components.clock.monotonic();
    for (const [key, item] of this.#items) {
      const { watch, lastAccessMs } = item;
      if (watch === undefined) continue;
      if (!isIdle({ synced: watch.reflector.hasSynced, lastAccessMs }, nowMs, this.#options.maxIdleMs)) continue;
      this.#close(key, item);
      this.#components.logger.debug(
        { object: key },
        'Stopped watching for changes: the object was not read for a long time',
      );
    }
  }

  #open(key: string, item: Item<T>): void {
    if (item.watch !== undefined || item.last?.immutable === true) return;
    const [namespace = '', name = ''] = key.split('/');
    const { resource } = this.#options;
    const reflector = new Reflector<T>(this.#components, {
      resource,
      namespace,
      fieldSelector: `metadata.name=${name}`,
      minWatchTimeoutMs: MIN_WATCH_TIMEOUT_MS,
    });
    const stop = new AbortController();
    item.watch = { reflector, stop };
    const running = Promise.all([reflector.start(stop.signal), this.#tellChanges(reflector, item)])
      .then(() => undefined)
      .catch((error: unknown) => this.#components.logger.error({ err: error, object: key }, 'Watch failed'))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /**
   * Reports changes to `onChange`. The first list counts as a change only if a read returned before the list arrived.
   */
  async #tellChanges(reflector: Reflector<T>, item: Item<T>): Promise<void> {
    const { onChange } = this.#options;
    if (onChange === undefined) return;
    let synced = false;
    for await (const { type } of reflector.changes()) {
      if (type === 'synced') synced = true;
      if (!synced || (type === 'synced' && !item.missed)) continue;
      item.missed = false;
      onChange(item.references.podUids);
    }
  }

  #close(key: string, item: Item<T>): void {
    if (item.watch === undefined) return;
    const { reflector, stop } = item.watch;
    if (reflector.hasSynced) item.last = reflector.objects.get(key);
    item.watch = undefined;
    stop.abort();
  }

  #notSynced(why: unknown): ObjectCacheError {
    const { kind } = this.#options.resource;
    const message = `failed to sync ${kind.toLowerCase()} cache: ${errorText(why)}`;
    return new ObjectCacheError('NotSynced', message, { cause: why });
  }

  #notFound(name: string): KubeError {
    const { plural, group } = this.#options.resource;
    const message = `${plural} ${JSON.stringify(name)} not found`;
    return new KubeError({ code: 'NotFound', message, httpStatus: 404, details: { name, group, kind: plural } });
  }
}
