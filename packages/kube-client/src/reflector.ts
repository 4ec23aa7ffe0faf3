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
  TimeSlice,
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

/** The components of {@link Reflector}. */
export interface ReflectorComponents {
  readonly client: Pick<RestClient, 'list' | 'watch'>;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: the system's random source. */
  readonly random?: Random;
  /** Default: no logging. */
  readonly logger?: Logger;
}

export interface ReflectorOptions<T> extends Pick<ListOptions, 'namespace' | 'fieldSelector' | 'labelSelector'> {
  readonly resource: Resource<T>;
  /**
   * Reduces each object to the part that the reflector stores. The result must have name, namespace, UID and resource
   * version. `previous` is the stored object with this name, if any, so that the new object can share equal parts with
   * it. Default: the whole object.
   */
  readonly transform?: (object: T, previous: T | undefined) => T;
  /** Whether to list by streaming lists if the server supports them (KEP-3157). Default: true. */
  readonly streamingLists?: boolean;
  /**
   * The minimum time, in milliseconds, after which the server ends each watch. The actual time is random, between this
   * value and twice this value. Default: 300,000.
   */
  readonly minWatchTimeoutMs?: number;
  /**
   * The first delay after a failure, in milliseconds. Default: 800. Each further delay is twice as long, plus jitter.
   */
  readonly backOffMs?: number;
  /** The limit of the delays, in milliseconds, without jitter. Default: 30,000. */
  readonly maxBackOffMs?: number;
  /**
   * How long a watch may be silent before it is reconnected, in milliseconds. Before the first bookmark of the server,
   * the limit is twice as long. Default: 90,000.
   */
  readonly idleTimeoutMs?: number;
}

/** Types of the options of a reflector, for `checkOptions`. */
export const REFLECTOR_OPTIONS = {
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
} as const;

/**
 * Keeps a local copy of a collection in sync with the API server: lists it, then watches it, until stopped. Handles
 * broken, hanging and refused connections, expired versions, and servers that lost data; the copy stays unchanged
 * during such failures. Source: `k8s.io/client-go/tools/cache/reflector.go`.
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
  /** Whether {@link listAnew} was called, so that the collection is listed before the next watch. */
  #anew = false;
  readonly #startOnce = new StartOnce('Reflector');

  constructor(given: ReflectorComponents, options: ReflectorOptions<T>) {
    checkOptions('Reflector', options, REFLECTOR_OPTIONS);
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

  /** The objects by `namespace/name` (or only the name). The objects are never modified in place. */
  get objects(): ReadonlyMap<string, T> {
    return this.#store.objects;
  }

  /** Whether the whole collection has been read at least once. */
  get hasSynced(): boolean {
    return this.#store.synced;
  }

  /** The newest resource version seen. Empty before the first list. */
  get lastSyncResourceVersion(): string {
    return this.#state.resourceVersion;
  }

  /** The last failure, because of which the copy may be out of date. The value is `undefined` while a watch is open. */
  get lastError(): KubeError | undefined {
    return this.#lastError;
  }

  /** Resolves once {@link hasSynced} is true. @throws the signal's reason */
  async waitForSync(signal?: AbortSignal): Promise<void> {
    await abortable(this.#synced.promise, signal);
  }

  /**
   * Returns a feed of changes for one consumer. The feed starts with all existing objects. The consumer must close it
   * or read it to its end.
   */
  changes(): ObjectChanges<T> {
    return this.#store.feed();
  }

  /**
   * Ends the current back-off, for example because another component has reached the server. A wait that the server
   * requested (`Retry-After`) is not shortened.
   */
  retryNow(): void {
    this.#endWait?.();
  }

  /**
   * Lists the collection again now. Needed if the server's data store was replaced, for example after a wipe: a watch
   * from a version of the old store receives nothing.
   */
  listAnew(): void {
    this.#anew = true;
    this.#endRound?.();
    this.#endWait?.();
  }

  /** Follows the collection until `signal` is aborted; then all feeds close. */
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
        this.#endRound = () => round.abort(new Error('the collection is listed again'));
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

  /** Runs a list, if due, and the watch after it. */
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
        await this.#streamInitialEvents(session, signal);
        phase = 'watch';
        watchedFromMs = clock.monotonic();
      }
      this.#recovered();
      const reaction = await this.#follow(session, signal);
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
    const slice = new TimeSlice(this.#components);
    for (const item of list.items) {
      this.#put(objects, item);
      if (slice.isDue()) await slice.pause(signal);
    }
    await this.#store.replace(objects, slice, signal);
    this.#listed(objects.size, list.resourceVersion, query.resourceVersion === '0' && list.paginated);
  }

  /** Reads the initial events of a watch up to the closing bookmark. @throws KubeError if the bookmark does not come */
  async #streamInitialEvents(session: WatchSession<T>, signal: AbortSignal): Promise<void> {
    const objects = new Map<string, T>();
    const slice = new TimeSlice(this.#components);
    for (;;) {
      if (slice.isDue()) await slice.pause(signal);
      const event = await session.next();
      if (event === undefined) {
        const message = 'the watch ended before its initial events did';
        throw new KubeError({ code: 'InvalidResponse', message });
      }
      if (event.type === 'BOOKMARK') {
        if (!event.initialEventsEnd) continue;
        this.#state = { ...this.#state, bookmarkSeen: true };
        await this.#store.replace(objects, slice, signal);
        this.#listed(objects.size, event.resourceVersion, false);
        return;
      }
      if (event.type === 'DELETED') objects.delete(objectKey(event.object));
      else this.#put(objects, event.object);
    }
  }

  /** Processes the events of a watch. @returns the next step if an event shows that the server lost data */
  async #follow(session: WatchSession<T>, signal: AbortSignal): Promise<rules.Reaction | undefined> {
    const slice = new TimeSlice(this.#components);
    for (let event = await session.next(); event !== undefined; event = await session.next()) {
      const state = rules.afterEvent(event.resourceVersion, event.type === 'BOOKMARK', this.#state);
      if (state === undefined) {
        const fields = { seen: this.#state.resourceVersion, now: event.resourceVersion };
        this.#logger.warn(fields, 'Resource version went back; listing the collection again');
        return { next: 'list', state: { ...this.#state, versionUnavailable: true }, backOff: true, atLeastMs: 0 };
      }
      this.#state = state;
      if (event.type === 'DELETED') this.#store.delete(event.object);
      else if (event.type !== 'BOOKMARK') this.#store.set(this.#kept(event.object));
      if (slice.isDue()) await slice.pause(signal);
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
    const { transform } = this.#options;
    return transform === undefined ? object : transform(object, this.#store.objects.get(objectKey(object)));
  }

  #listed(count: number, resourceVersion: string, paginatedFromCache: boolean): void {
    this.#state = rules.afterListed(resourceVersion, paginatedFromCache, this.#state);
    this.#logger.debug({ count, resourceVersion }, 'Listed the collection');
    this.#synced.resolve();
  }

  #selectors(): Pick<ListOptions, 'namespace' | 'fieldSelector' | 'labelSelector'> {
    const { namespace, fieldSelector, labelSelector } = this.#options;
    return { namespace, fieldSelector, labelSelector };
  }

  /**
   * Returns a random time between the minimum and twice the minimum, so that the watches of many nodes do not end
   * together.
   */
  #watchTimeoutSeconds(): number {
    const minMs = this.#options.minWatchTimeoutMs ?? 300_000;
    return Math.ceil(jitter(this.#components.random, minMs, 1) / 1000);
  }

  #recovered(): void {
    if (this.#lastError !== undefined) this.#logger.info({}, 'Watching the collection again');
    this.#lastError = undefined;
  }

  /** Logs the first of consecutive failures as a warning, and expected failures at debug level. */
  #failed(error: KubeError, phase: rules.ReflectorPhase): void {
    const expected = error.code === 'Expired' || error.code === 'Gone' || error.code === 'ConnectionReplaced';
    const level = expected || this.#lastError !== undefined ? 'debug' : 'warn';
    this.#logger[level]({ err: error, phase }, 'Failed to follow the collection; retrying');
    this.#lastError = error;
  }

  async #wait({ backOff, atLeastMs }: rules.Reaction, signal: AbortSignal): Promise<void> {
    const { clock } = this.#components;
    const backOffMs = backOff ? this.#backoff.next() : 0;
    using link = linkAbort(signal);
    this.#endWait = () => link.abort();
    // A rejection is ignored: an abort only ends the wait, and the loop checks whether to stop. `retryNow` does not
    // shorten a wait that the server requested.
    if (atLeastMs > 0) await sleep(clock, atLeastMs, signal).catch(() => {});
    if (backOffMs > atLeastMs) await sleep(clock, backOffMs - atLeastMs, link.signal).catch(() => {});
    this.#endWait = undefined;
  }
}
