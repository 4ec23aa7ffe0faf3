import {
  abortable,
  type Clock,
  checkComponents,
  checkOptions,
  jitter,
  linkAbort,
  type Random,
  StartOnce,
  sleep,
} from '@node-agent/async';
import { type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import type { ObjectChanges } from './change-feed.ts';
import { KubeError } from './errors.ts';
import { objectKey } from './object-key.ts';
import { listAll } from './pager.ts';
import type { ListOptions, WatchOptions } from './query.ts';
import { ReflectorBackoff } from './reflector-backoff.ts';
import * as rules from './reflector-rules.ts';
import type { KubeObject, Resource } from './resource.ts';
import type { RestClient } from './rest-client.ts';
import { ObjectStore } from './store.ts';
import type { WatchEvent } from './watch-events.ts';
import { WatchSession } from './watch-session.ts';

/** What {@link Reflector} works with. */
export interface ReflectorComponents {
  readonly client: Pick<RestClient, 'list' | 'watch'>;
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** The machine's own where absent. */
  readonly random?: Random;
  /** Silent where absent. */
  readonly logger?: Logger;
}

export interface ReflectorOptions<T> extends Pick<ListOptions, 'namespace' | 'fieldSelector' | 'labelSelector'> {
  readonly resource: Resource<T>;
  /** What is kept of each object: all of it where absent. It must keep name, namespace, UID and resource version. */
  readonly transform?: (object: T) => T;
  /** Lists come as the beginning of a watch where the server can (KEP-3157); true where absent. */
  readonly streamingLists?: boolean;
  /** The server ends each watch after this to twice this long, in milliseconds; 300,000 where absent. */
  readonly minWatchTimeoutMs?: number;
  /** The first wait after a failure, in milliseconds; 800 where absent. Each further one is twice as long, with jitter. */
  readonly backOffMs?: number;
  /** What the waits grow to, in milliseconds, without their jitter; 30,000 where absent. */
  readonly maxBackOffMs?: number;
  /** A watch is dialled anew after so much silence, in milliseconds, or twice that before its first bookmark; 90,000 where absent. */
  readonly idleTimeoutMs?: number;
}

/**
 * Keeps a copy of a collection that follows the server's: it lists, then watches, and never stops for good. Connections that
 * break, hang or are refused, versions that expire and servers that forget are all dealt with by themselves; until then the
 * copy stays as it was. Source: `k8s.io/client-go/tools/cache/reflector.go`.
 */
export class Reflector<T extends KubeObject> {
  readonly #components: WithDefaults<ReflectorComponents>;
  readonly #options: ReflectorOptions<T>;
  readonly #store = new ObjectStore<T>();
  readonly #backoff: ReflectorBackoff;
  readonly #logger: Logger;
  readonly #synced = Promise.withResolvers<void>();
  #state: rules.ReflectorState;
  #lastError: KubeError | undefined;
  #endWait: (() => void) | undefined;
  #endRound: (() => void) | undefined;
  /** All is to be listed before anything is watched again. */
  #anew = false;
  readonly #startOnce = new StartOnce('Reflector');

  constructor(given: ReflectorComponents, options: ReflectorOptions<T>) {
    checkOptions('Reflector', options, {
      resource: 'object',
      transform: 'function?',
      streamingLists: 'boolean?',
      minWatchTimeoutMs: 'positive?',
      backOffMs: 'notNegative?',
      maxBackOffMs: 'notNegative?',
      idleTimeoutMs: 'positive?',
      namespace: 'string?',
      fieldSelector: 'string?',
      labelSelector: 'string?',
    });
    checkComponents('Reflector', given, { client: ['watch', 'list'] });
    const components = withDefaults(given);
    this.#components = components;
    this.#options = options;
    this.#logger = components.logger.child({ resource: options.resource.plural });
    this.#state = rules.initialState(options.streamingLists ?? true);
    const { backOffMs = 800, maxBackOffMs = 30_000 } = options;
    this.#backoff = new ReflectorBackoff(components, {
      initialMs: backOffMs,
      maxMs: maxBackOffMs,
      resetAfterMs: 120_000,
    });
  }

  /** The objects by `namespace/name` (or the name alone); they are never changed in place. */
  get objects(): ReadonlyMap<string, T> {
    return this.#store.objects;
  }

  /** Whether it has had all of the collection at least once. */
  get hasSynced(): boolean {
    return this.#store.synced;
  }

  /** The newest resource version seen; empty before the first list. */
  get lastSyncResourceVersion(): string {
    return this.#state.resourceVersion;
  }

  /** Why the copy may be out of date; `undefined` while a watch is open. */
  get lastError(): KubeError | undefined {
    return this.#lastError;
  }

  /** Resolves once {@link hasSynced}. @throws the signal's reason */
  async waitForSync(signal?: AbortSignal): Promise<void> {
    await abortable(this.#synced.promise, signal);
  }

  /** A feed of changes for one consumer, which begins with all objects that are there. Close it, or leave it to the end. */
  changes(): ObjectChanges<T> {
    return this.#store.feed();
  }

  /**
   * Ends the wait after a failure, if there is one: something else has just heard of the server. What the server itself has asked for
   * (`Retry-After`) is waited out.
   */
  retryNow(): void {
    this.#endWait?.();
  }

  /**
   * Lists everything now: the server may have another store than the one that was followed, as after a wipe, and says nothing
   * to a watch from a version of that one's.
   */
  listAnew(): void {
    this.#anew = true;
    this.#endRound?.();
    this.#endWait?.();
  }

  /** Follows the collection until `signal` is aborted; then all feeds end. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    let next: 'list' | 'watch' = 'list';
    try {
      while (!signal.aborted) {
        if (this.#anew) {
          this.#anew = false;
          this.#state = { ...this.#state, versionUnavailable: true };
          next = 'list';
        }
        using round = linkAbort(signal);
        this.#endRound = () => round.abort(new Error('everything is listed anew'));
        const reaction = await this.#round(next, round.signal);
        if (signal.aborted) return;
        if (this.#anew) continue;
        this.#state = reaction.state;
        next = reaction.next;
        if (reaction.backOff || reaction.atLeastMs > 0) await this.#wait(reaction, signal);
      }
    } finally {
      this.#store.closeFeeds();
    }
  }

  /** A watch, preceded by a list where that is due, to its end. */
  async #round(next: 'list' | 'watch', signal: AbortSignal): Promise<rules.Reaction> {
    const streams = next === 'list' && this.#state.streaming === 'on';
    let phase: rules.ReflectorPhase = streams ? 'streamingList' : next;
    let timeoutSeconds = 0;
    const limits = { initialMs: 30_000, idleMs: this.#options.idleTimeoutMs ?? 90_000, graceMs: 30_000 };
    const silence = (): number =>
      rules.idleLimitMs(limits, {
        initial: phase === 'streamingList',
        bookmarkSeen: this.#state.bookmarkSeen,
        timeoutSeconds,
      });
    const { clock } = this.#components;
    const startedAtMs = clock.monotonic();
    let watchedFromMs = startedAtMs;
    let session: WatchSession<T> | undefined;
    try {
      if (phase === 'list') {
        await this.#list(signal);
        phase = 'watch';
      }
      timeoutSeconds = this.#watchTimeoutSeconds();
      session = new WatchSession<T>(clock, silence, signal);
      watchedFromMs = clock.monotonic();
      const query =
        phase === 'streamingList'
          ? rules.streamingListQuery(this.#state, timeoutSeconds)
          : rules.watchQuery(this.#state, timeoutSeconds);
      await session.open((linked) => this.#watch(query, linked));
      if (phase === 'streamingList') {
        await this.#streamInitialEvents(session);
        phase = 'watch';
        watchedFromMs = clock.monotonic();
      }
      this.#recovered();
      const reaction = await this.#follow(session);
      if (reaction !== undefined) return reaction;
      return rules.afterCleanEnd(this.#end(phase, watchedFromMs, session), this.#state);
    } catch (cause) {
      const error = KubeError.from(cause);
      if (!signal.aborted) this.#failed(error, phase);
      return rules.afterFailure(this.#end(phase, watchedFromMs, session), error, this.#state);
    } finally {
      await session?.[Symbol.asyncDispose]();
    }
  }

  #end(phase: rules.ReflectorPhase, fromMs: number, session: WatchSession<T> | undefined): rules.PhaseEnd {
    const lastedMs = this.#components.clock.monotonic() - fromMs;
    return { phase, opened: session?.opened ?? false, lastedMs, events: session?.count ?? 0 };
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client } = this.#components;
    const { resource } = this.#options;
    const query = { ...this.#selectors(), ...rules.listQuery(this.#state) };
    const paged = rules.isPaged(this.#state, query.resourceVersion);
    const list = await listAll((options) => client.list(resource, options, signal), query, paged);
    const objects = new Map<string, T>();
    for (const item of list.items) this.#put(objects, item);
    this.#replace(objects, list.resourceVersion, query.resourceVersion === '0' && list.paginated);
  }

  /** The objects that are there, as events, up to the bookmark that ends them. @throws KubeError where it does not come */
  async #streamInitialEvents(session: WatchSession<T>): Promise<void> {
    const objects = new Map<string, T>();
    for (;;) {
      const event = await session.next();
      if (event === undefined) {
        const message = 'the watch ended before its initial events did';
        throw new KubeError({ code: 'InvalidResponse', message });
      }
      if (event.type === 'BOOKMARK') {
        if (!event.initialEventsEnd) continue;
        this.#state = { ...this.#state, bookmarkSeen: true };
        this.#replace(objects, event.resourceVersion, false);
        return;
      }
      if (event.type === 'DELETED') objects.delete(objectKey(event.object));
      else this.#put(objects, event.object);
    }
  }

  /** Takes in what a watch says. @returns what to do where it tells that the server has lost its past */
  async #follow(session: WatchSession<T>): Promise<rules.Reaction | undefined> {
    for (let event = await session.next(); event !== undefined; event = await session.next()) {
      const state = rules.afterEvent(event.resourceVersion, event.type === 'BOOKMARK', this.#state);
      if (state === undefined) {
        const fields = { seen: this.#state.resourceVersion, now: event.resourceVersion };
        this.#logger.warn(fields, 'The resource version went back; everything is listed anew');
        return { next: 'list', state: { ...this.#state, versionUnavailable: true }, backOff: true, atLeastMs: 0 };
      }
      this.#state = state;
      if (event.type === 'DELETED') this.#store.delete(event.object);
      else if (event.type !== 'BOOKMARK') this.#store.set(this.#kept(event.object));
    }
    return undefined;
  }

  #watch(query: WatchOptions, signal: AbortSignal): Promise<AsyncIterable<WatchEvent<T>>> {
    return this.#components.client.watch(this.#options.resource, { ...this.#selectors(), ...query }, signal);
  }

  #put(objects: Map<string, T>, object: T): void {
    objects.set(objectKey(object), this.#kept(object));
  }

  #kept(object: T): T {
    return this.#options.transform?.(object) ?? object;
  }

  #replace(objects: ReadonlyMap<string, T>, resourceVersion: string, paginatedFromCache: boolean): void {
    this.#store.replace(objects);
    this.#state = rules.afterListed(resourceVersion, paginatedFromCache, this.#state);
    this.#logger.debug({ count: objects.size, resourceVersion }, 'The collection was listed');
    this.#synced.resolve();
  }

  #selectors(): Pick<ListOptions, 'namespace' | 'fieldSelector' | 'labelSelector'> {
    const { namespace, fieldSelector, labelSelector } = this.#options;
    return { namespace, fieldSelector, labelSelector };
  }

  /** Between the least and twice as long, so that the watches of many nodes do not end together. */
  #watchTimeoutSeconds(): number {
    const minMs = this.#options.minWatchTimeoutMs ?? 300_000;
    return Math.ceil(jitter(this.#components.random, minMs, 1) / 1000);
  }

  #recovered(): void {
    if (this.#lastError !== undefined) this.#logger.info({}, 'The collection is watched again');
    this.#lastError = undefined;
  }

  /** The first failure of a row is worth a line that is seen; the expected ones are not. */
  #failed(error: KubeError, phase: rules.ReflectorPhase): void {
    const expected = error.code === 'Expired' || error.code === 'Gone' || error.code === 'ConnectionReplaced';
    const level = expected || this.#lastError !== undefined ? 'debug' : 'warn';
    this.#logger[level]({ err: error, phase }, 'The collection cannot be followed; it is tried again');
    this.#lastError = error;
  }

  async #wait({ backOff, atLeastMs }: rules.Reaction, signal: AbortSignal): Promise<void> {
    const { clock } = this.#components;
    const backOffMs = backOff ? this.#backoff.next() : 0;
    using link = linkAbort(signal);
    this.#endWait = () => link.abort();
    // An abort only ends the wait; whether all is to end, the loop sees for itself. What the server asked for is waited out, whoever has
    // heard of it meanwhile.
    if (atLeastMs > 0) await sleep(clock, atLeastMs, signal).catch(() => {});
    if (backOffMs > atLeastMs) await sleep(clock, backOffMs - atLeastMs, link.signal).catch(() => {});
    this.#endWait = undefined;
  }
}
