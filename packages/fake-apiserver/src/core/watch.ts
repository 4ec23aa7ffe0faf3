import { Channel, type Timer } from '@node-agent/async';
import { ConnectionFault } from '../faults/connection-fault.ts';
import type { WatchFault } from '../faults/fault.ts';
import { apiVersionOf, type ResourceDefinition } from '../resources/definition.ts';
import { ApiFailure, expired } from './failure.ts';
import { clone, type JsonObject, metadataOf, textAt } from './json.ts';
import type { ListOptions } from './list-options.ts';
import { untilFresh } from './read.ts';
import { type ServerState, served } from './state.ts';
import type { Change } from './store.ts';

/** Settings of watches. */
export interface WatchSettings {
  /** Interval of bookmarks on watches that requested them, in milliseconds. */
  readonly bookmarkIntervalMs: number;
  /**
   * Minimum duration of a watch without its own timeout, in milliseconds. The actual duration is at most twice this
   * value.
   */
  readonly minRequestTimeoutMs: number;
}

/** An event of a watch. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: JsonObject;
}

const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';
/** Time between the last bookmark of a watch and its timeout, in milliseconds. */
const LAST_BOOKMARK_MS = 2000;

type Item = { readonly line: string } | { readonly end: 'done' | 'reset' };

/**
 * A watch, which sends the initial objects, then each change, until the client, the server or a fault ends the watch.
 */
export class Watch {
  readonly #state: ServerState;
  readonly #definition: ResourceDefinition;
  readonly #prefix: string;
  readonly #options: ListOptions;
  readonly #settings: WatchSettings;
  readonly #fault: WatchFault | undefined;
  readonly #show: (event: WatchEvent) => WatchEvent;
  readonly #onClose: () => void;
  readonly #items = new Channel<Item>();
  readonly #timers = new Set<Timer>();
  #unsubscribe: () => void = () => {};
  #told = 0;
  #silent = false;
  #closed = false;

  constructor(
    state: ServerState,
    about: { readonly definition: ResourceDefinition; readonly namespace: string },
    options: ListOptions,
    settings: WatchSettings,
    fault: WatchFault | undefined,
    show: (event: WatchEvent) => WatchEvent,
    onClose: () => void,
  ) {
    this.#state = state;
    this.#definition = about.definition;
    this.#prefix = about.definition.namespaced && about.namespace !== '' ? `${about.namespace}/` : '';
    this.#options = options;
    this.#settings = settings;
    this.#fault = fault;
    this.#show = show;
    this.#onClose = onClose;
  }

  /**
   * Starts the watch. No change after this call is missed. If the initial objects of a newer revision are requested,
   * waits for that revision.
   */
  async start(signal: AbortSignal | undefined): Promise<void> {
    const { random, store } = this.#state;
    const { resourceVersion, sendInitialEvents, timeoutSeconds, allowWatchBookmarks } = this.#options;
    const wanted = Number(resourceVersion);
    try {
      if (sendInitialEvents === true) await untilFresh(this.#state, wanted, signal);
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      this.#fail(error);
      return;
    }
    this.#begin(wanted);
    if (this.#closed) return;
    const timeoutMs =
      (timeoutSeconds ?? 0) > 0
        ? (timeoutSeconds ?? 0) * 1000
        : this.#settings.minRequestTimeoutMs * (1 + random.next());
    this.#after(timeoutMs, () => this.end());
    if (allowWatchBookmarks) {
      this.#bookmarkEvery(this.#settings.bookmarkIntervalMs);
      if (timeoutMs > LAST_BOOKMARK_MS) this.#after(timeoutMs - LAST_BOOKMARK_MS, () => this.bookmark());
    }
    const fault = this.#fault;
    if (fault?.afterMs !== undefined) this.#after(fault.afterMs, () => this.#strike());
    else if (fault !== undefined && (fault.afterEvents ?? 0) === 0) this.#strike();
    // Changes up to the requested revision are not sent, because the client already knows them.
    const unsubscribe = store.subscribe((change) => {
      if (change.revision > wanted) this.#change(change);
    });
    const onAbort = (): void => this.#release();
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#unsubscribe = () => {
      unsubscribe();
      signal?.removeEventListener('abort', onAbort);
    };
  }

  /**
   * Yields the events as lines of JSON until the watch ends.
   * @throws ConnectionFault if the watch is cut; the signal's reason
   */
  async *lines(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    const encoder = new TextEncoder();
    try {
      while (true) {
        const taken = await this.#items.take(signal);
        if (taken === undefined) return;
        if ('end' in taken) {
          if (taken.end === 'reset') throw new ConnectionFault('ECONNRESET', 'watch was cut');
          return;
        }
        yield encoder.encode(taken.line);
      }
    } finally {
      this.#release();
    }
  }

  /** Sends a bookmark with the current revision if the client allows bookmarks. */
  bookmark(annotations?: JsonObject): void {
    if (!this.#options.allowWatchBookmarks) return;
    const { kind } = this.#definition;
    const metadata: JsonObject = { resourceVersion: String(this.#state.store.revision) };
    if (annotations !== undefined) metadata.annotations = annotations;
    this.#tell({ type: 'BOOKMARK', object: { kind, apiVersion: apiVersionOf(this.#definition), metadata } });
  }

  /** Ends the response normally, as a server does at the timeout of a watch. */
  end(): void {
    this.#finish('done');
  }

  /** Breaks the connection. */
  cut(): void {
    this.#finish('reset');
  }

  /** Sends an error that the client's resource version is too old, and ends the watch. */
  expire(): void {
    const { revision } = this.#state.store;
    this.#fail(expired(`too old resource version: ${this.#options.resourceVersion || '0'} (${revision})`));
  }

  #begin(wanted: number): void {
    const { store } = this.#state;
    const { sendInitialEvents, allowWatchBookmarks } = this.#options;
    if (sendInitialEvents === true) {
      const objects = [...store.list(this.#definition.storage)].sort(([a], [b]) => (a < b ? -1 : 1));
      for (const [key, object] of objects) {
        if (this.#fits(key, object)) this.#tell({ type: 'ADDED', object: served(this.#definition, object) });
      }
      if (allowWatchBookmarks) this.bookmark({ [INITIAL_EVENTS_END]: 'true' });
      return;
    }
    if (wanted === 0) return;
    const changes = store.changesSince(this.#definition.storage, wanted);
    if (changes === undefined) {
      this.#fail(expired(`too old resource version: ${wanted} (${store.compactedRevision})`));
      return;
    }
    for (const change of changes) this.#change(change);
  }

  #fits(key: string, object: JsonObject): boolean {
    return key.startsWith(this.#prefix) && this.#options.matches(object);
  }

  /**
   * With a selector, an object that stops matching is reported as deleted, and an object that starts matching as added.
   */
  #change(change: Change): void {
    if (change.storage !== this.#definition.storage) return;
    const before = change.previous !== undefined && this.#fits(change.key, change.previous);
    const after = change.type !== 'DELETED' && this.#fits(change.key, change.object);
    if (after) this.#tell({ type: before ? 'MODIFIED' : 'ADDED', object: served(this.#definition, change.object) });
    else if (before && change.previous !== undefined) {
      const last = clone(served(this.#definition, change.previous));
      metadataOf(last).resourceVersion = textAt(change.object, 'metadata', 'resourceVersion');
      this.#tell({ type: 'DELETED', object: last });
    }
  }

  #tell(event: WatchEvent): void {
    if (this.#silent || this.#closed) return;
    this.#items.push({ line: `${JSON.stringify(this.#show(event))}\n` });
    this.#told++;
    const { afterEvents } = this.#fault ?? {};
    if (afterEvents !== undefined && afterEvents > 0 && this.#told >= afterEvents) this.#strike();
  }

  #strike(): void {
    switch (this.#fault?.kind) {
      case 'cut':
        this.cut();
        break;
      case 'end':
        this.end();
        break;
      case 'hang':
        this.#silent = true;
        break;
      case 'expire':
        this.expire();
        break;
      case 'garble':
        this.#items.push({ line: '{"type":"ADDED","object":{"kind":"' });
        this.cut();
        break;
    }
  }

  #fail(failure: ApiFailure): void {
    this.#silent = false;
    this.#tell({ type: 'ERROR', object: failure.status });
    this.end();
  }

  #bookmarkEvery(intervalMs: number): void {
    this.#after(intervalMs, () => {
      this.bookmark();
      this.#bookmarkEvery(intervalMs);
    });
  }

  #after(delayMs: number, callback: () => void): void {
    const timer = this.#state.clock.setTimer(delayMs, () => {
      this.#timers.delete(timer);
      if (!this.#closed) callback();
    });
    this.#timers.add(timer);
  }

  #finish(end: 'done' | 'reset'): void {
    if (this.#closed) return;
    this.#items.push({ end });
    this.#release();
  }

  #release(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#onClose();
    this.#unsubscribe();
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }
}
