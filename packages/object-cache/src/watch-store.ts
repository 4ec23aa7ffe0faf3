import { type Clock, every, type Random, Semaphore, withTimeout } from '@node-agent/async';
import { KubeError, Reflector, type Resource } from '@node-agent/kube-client';
import { errorText, type Logger } from '@node-agent/telemetry';
import { ObjectCacheError } from './errors.ts';
import { type ConfigObject, notRegistered, type ObjectClient, type ObjectStore, storeKey } from './object-store.ts';
import { References } from './references.ts';
import { isSuperseded } from './version-rules.ts';
import { isIdle } from './watch-rules.ts';

/** What {@link WatchStore} works with. */
export interface WatchStoreComponents {
  readonly client: ObjectClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface WatchStoreOptions<T> {
  readonly resource: Resource<T>;
  /** A watch of an object that nobody asked for for so long is closed, in milliseconds. */
  readonly maxIdleMs: number;
  /** Told of the pods that refer to an object that has changed, come or gone since a reader was last given it. */
  readonly onChange?: (podUids: readonly string[]) => void;
}

interface Item<T extends ConfigObject> {
  readonly references: References;
  watch: Watch<T> | undefined;
  /** By the monotonic clock. */
  lastAccessMs: number;
  /** The last that was known when a watch was closed. */
  last: T | undefined;
  /** Whether a reader was told that it is not known yet: what comes is news then. */
  missed: boolean;
  /** A pod has begun to refer to the object since it was last read: the next reader has it compared with the API server's. */
  unverified: boolean;
  /** One reader compares at a time. */
  readonly verifying: Semaphore;
  /** No comparison before then, by the monotonic clock: the last one has failed. */
  verifyAfterMs: number;
}

interface Watch<T extends ConfigObject> {
  readonly reflector: Reflector<T>;
  readonly stop: AbortController;
}

/** How long a reader waits for what a watch begins with, and for the comparison of an object; and how long it is until the next one if that fails. */
const SYNC_TIMEOUT_MS = 1000;
const IDLE_CHECK_PERIOD_MS = 60_000;
/** Longer than a reflector's own, so that watches of objects that hardly change are not made anew all the time. */
const MIN_WATCH_TIMEOUT_MS = 30 * 60_000;

/**
 * Follows each object that is referred to with a watch of its own. When a further pod refers to an object, its first reader compares the
 * object with the API server's: an immutable one may have been deleted and created with other content, and a watch may hang. An object that is immutable is watched no further, nor is
 * one that is not asked for: its watch is opened again when it is. While the API server is away, readers get what was last
 * known (K3). Source: `pkg/kubelet/util/manager/watch_based_manager.go`.
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

  /** How many watches are open, or being opened. */
  get watchCount(): number {
    let count = 0;
    for (const { watch } of this.#items.values()) if (watch !== undefined) count++;
    return count;
  }

  /** Begins to follow the object, once the store is started. */
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
      // A watch that is opened for an item that is gone would be followed for ever (K4).
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
      // What was never to change was so in the cluster that is lost.
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

  /** Compares an object that was known before a pod referred to it with the API server's; what cannot be compared is given as it is known (K3). */
  async #verify(
    key: string,
    item: Item<T>,
    at: { readonly namespace: string; readonly name: string },
    signal: AbortSignal,
  ): Promise<void> {
    const { client, clock, logger } = this.#components;
    if (!item.unverified || clock.monotonic() < item.verifyAfterMs) return;
    // A pod that comes while the answer is on its way has a comparison of its own.
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
        logger.debug({ err: error, object: key }, 'Failed to compare an object with the one of the API server');
        return;
      }
    }
    const known = item.watch === undefined ? item.last : item.watch.reflector.objects.get(key);
    if (!isSuperseded(known, answer)) return;
    logger.info({ object: key, watched: item.watch !== undefined }, 'Object was replaced; reading it again');
    this.#close(key, item);
    item.last = answer;
    // The pods that refer to it already have the old one.
    item.missed = true;
  }

  /** Waits for the first of it, but not long. A reader is a reason to try again at once. */
  async #hasSynced({ reflector }: Watch<T>, signal: AbortSignal): Promise<boolean> {
    if (reflector.hasSynced) return true;
    reflector.retryNow();
    const { clock } = this.#components;
    try {
      await withTimeout(clock, SYNC_TIMEOUT_MS, (linked) => reflector.waitForSync(linked), signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#components.logger.debug({ err: error }, 'An object is not known yet');
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
      this.#components.logger.debug({ object: key }, 'Stopped watching for changes: nobody asked for the object');
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
      .catch((error: unknown) => this.#components.logger.error({ err: error, object: key }, 'A watch has failed'))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** What a watch begins with is no change, unless a reader had to go without it. */
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
