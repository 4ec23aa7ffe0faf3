import { type Clock, Semaphore } from '@node-agent/async';
import { KubeError, type Resource } from '@node-agent/kube-client';
import type { Logger } from '@node-agent/telemetry';
import { type ConfigObject, notRegistered, type ObjectClient, type ObjectStore, storeKey } from './object-store.ts';
import { References } from './references.ts';
import { mayBePast } from './version-rules.ts';

/** The components of {@link TtlStore}. */
export interface TtlStoreComponents {
  readonly client: Pick<ObjectClient, 'get'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface TtlStoreOptions<T> {
  readonly resource: Resource<T>;
  /**
   * Returns how long an object is fresh, in milliseconds. Called for each read. Default, also for `undefined`: one
   * minute.
   */
  readonly ttlMs?: () => number | undefined;
}

/** Cached result of the reads of an object, which are serialized. */
interface Data<T> {
  readonly lock: Semaphore;
  object: T | undefined;
  /**
   * The last NotFound error. The error is not cached: the next read calls the API server again, and returns this error
   * only if that call fails.
   */
  notFound: KubeError | undefined;
  /** Time of the last read, by the monotonic clock. */
  readAtMs: number;
}

interface Item<T> {
  readonly references: References;
  data: Data<T>;
}

const DEFAULT_TTL_MS = 60_000;

/**
 * Reads an object when it is requested, and again when it is no longer fresh or a new pod refers to it. Source:
 * `pkg/kubelet/util/manager/cache_based_manager.go`.
 */
export class TtlStore<T extends ConfigObject> implements ObjectStore<T> {
  readonly #components: TtlStoreComponents;
  readonly #options: TtlStoreOptions<T>;
  readonly #items = new Map<string, Item<T>>();

  constructor(components: TtlStoreComponents, options: TtlStoreOptions<T>) {
    this.#components = components;
    this.#options = options;
  }

  addReference(namespace: string, name: string, podUid: string): void {
    const key = storeKey(namespace, name);
    const references = this.#items.get(key)?.references ?? new References();
    references.add(podUid);
    this.#items.set(key, { references, data: noData() });
  }

  deleteReference(namespace: string, name: string, podUid: string): void {
    const key = storeKey(namespace, name);
    const item = this.#items.get(key);
    item?.references.delete(podUid);
    if (item?.references.empty) this.#items.delete(key);
  }

  async get(namespace: string, name: string, signal: AbortSignal): Promise<T> {
    const data = this.#items.get(storeKey(namespace, name))?.data;
    if (data === undefined) throw notRegistered(namespace, name);
    return await data.lock.run(() => this.#fresh(data, { namespace, name }, signal), signal);
  }

  listAnew(): void {
    for (const { data } of this.#items.values()) data.readAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Does nothing: objects are read on demand. */
  async start(): Promise<void> {}

  async #fresh(data: Data<T>, at: { namespace: string; name: string }, signal: AbortSignal): Promise<T> {
    const { clock, logger } = this.#components;
    const ttlMs = this.#options.ttlMs?.() ?? DEFAULT_TTL_MS;
    const { object } = data;
    if (object !== undefined && clock.monotonic() - data.readAtMs < ttlMs) return object;
    try {
      data.object = await this.#read(object, at, signal);
      data.notFound = undefined;
      data.readAtMs = clock.monotonic();
      return data.object;
    } catch (cause) {
      signal.throwIfAborted();
      const error = KubeError.from(cause);
      if (error.code === 'NotFound') {
        data.object = undefined;
        data.notFound = error;
        throw error;
      }
      const known = data.object ?? data.notFound;
      if (known === undefined) throw error;
      logger.debug({ err: error, ...at }, 'Failed to read an object; using its last known state');
      if (KubeError.is(known)) throw known;
      return known;
    }
  }

  /** Refreshes an object from the server's cache, unless the cached version may be older. */
  async #read(known: T | undefined, at: { namespace: string; name: string }, signal: AbortSignal): Promise<T> {
    const { client } = this.#components;
    const { resource } = this.#options;
    if (known !== undefined) {
      const answer = await client.get(resource, { ...at, resourceVersion: '0' }, signal);
      if (!mayBePast(answer.metadata, known.metadata)) return answer;
    }
    return await client.get(resource, at, signal);
  }
}

function noData<T>(): Data<T> {
  return { lock: new Semaphore(1), object: undefined, notFound: undefined, readAtMs: 0 };
}
