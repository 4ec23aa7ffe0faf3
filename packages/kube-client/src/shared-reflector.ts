import { type Clock, checkOptions, StartOnce, systemClock, type Timer, untilAborted } from '@node-agent/async';
import type { ObjectChanges } from './change-feed.ts';
import { REFLECTOR_OPTIONS, Reflector, type ReflectorComponents, type ReflectorOptions } from './reflector.ts';
import type { KubeObject } from './resource.ts';
import type { WatchedObjects } from './watched-objects.ts';

/** Options of a {@link SharedReflector}. */
export interface SharedReflectorOptions<T> extends ReflectorOptions<T> {
  /**
   * The minimum time between two lists that readers request with `listAnew`, in milliseconds. Requests within this time
   * are served by one list at its end. Default: 30,000.
   */
  readonly minListIntervalMs?: number;
}

/**
 * One copy of a collection for many readers, such as the kubelets of one process: one list and one watch serve all of
 * them. Each reader gets a view, which it starts and stops like a `Reflector` of its own.
 */
export class SharedReflector<T extends KubeObject> {
  readonly #reflector: Reflector<T>;
  readonly #clock: Clock;
  readonly #minListIntervalMs: number;
  readonly #startOnce = new StartOnce('SharedReflector');
  /** Time of the last list that a reader requested. */
  #listedAtMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;

  /** @throws OptionsError that names the invalid component or option */
  constructor(components: ReflectorComponents, options: SharedReflectorOptions<T>) {
    checkOptions('SharedReflector', options, { ...REFLECTOR_OPTIONS, minListIntervalMs: 'notNegative?' });
    const { minListIntervalMs = 30_000, ...ofReflector } = options;
    this.#reflector = new Reflector(components, ofReflector);
    this.#clock = components.clock ?? systemClock;
    this.#minListIntervalMs = minListIntervalMs;
  }

  /** Returns a view for one reader. Its `start` ends when the reader's signal is aborted, and closes its feeds. */
  view(): WatchedObjects<T> {
    const reflector = this.#reflector;
    const feeds = new Set<ObjectChanges<T>>();
    return {
      get objects() {
        return reflector.objects;
      },
      get hasSynced() {
        return reflector.hasSynced;
      },
      waitForSync: (signal) => reflector.waitForSync(signal),
      changes() {
        const feed = reflector.changes();
        feeds.add(feed);
        return feed;
      },
      retryNow: () => reflector.retryNow(),
      listAnew: () => this.#listAnew(),
      async start(signal) {
        await untilAborted(signal);
        for (const feed of feeds) feed.close();
      },
    };
  }

  /** Follows the collection until `signal` is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    try {
      await this.#reflector.start(signal);
    } finally {
      this.#timer?.cancel();
      this.#timer = undefined;
    }
  }

  /**
   * Lists the collection again now, or at the end of the minimum interval. In a new cluster, all readers request this
   * at the same time.
   */
  #listAnew(): void {
    if (this.#timer !== undefined) return;
    const delayMs = this.#listedAtMs + this.#minListIntervalMs - this.#clock.monotonic();
    if (delayMs <= 0) this.#list();
    else this.#timer = this.#clock.setTimer(delayMs, () => this.#list());
  }

  #list(): void {
    this.#timer = undefined;
    this.#listedAtMs = this.#clock.monotonic();
    this.#reflector.listAnew();
  }
}
