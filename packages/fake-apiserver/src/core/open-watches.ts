import type { HttpResponse } from '../transport.ts';
import type { Call } from './call.ts';
import { parseListOptions } from './list-options.ts';
import { inForm, negotiate } from './negotiate.ts';
import type { ServerState, Target } from './state.ts';
import { Watch, type WatchSettings } from './watch.ts';

/** The open watches. A watch is opened by a request and ended by its client, its timeout, a fault or the server. */
export class OpenWatches {
  readonly #state: ServerState;
  readonly #settings: WatchSettings;
  readonly #watches = new Set<Watch>();

  constructor(state: ServerState, settings: WatchSettings) {
    this.#state = state;
    this.#settings = settings;
  }

  get size(): number {
    return this.#watches.size;
  }

  /**
   * Opens a watch and responds with its events.
   * @throws ApiFailure if its options or resource version are invalid
   */
  async open(
    { definition, namespace, name }: Target,
    { request, query, fault }: Pick<Call, 'request' | 'query' | 'fault'>,
    signal: AbortSignal | undefined,
  ): Promise<HttpResponse> {
    const form = negotiate(request.headers.accept);
    const include = query.get('includeObject') ?? 'Metadata';
    const options = parseListOptions(query, definition, name);
    const watch = new Watch(
      this.#state,
      { definition, namespace },
      options,
      this.#settings,
      fault?.kind === 'watch' ? fault.watch : undefined,
      (event) => ({
        ...event,
        object: event.type === 'ERROR' ? event.object : inForm(event.object, form, include, this.#state.clock.now()),
      }),
      () => void this.#watches.delete(watch),
    );
    this.#watches.add(watch);
    try {
      await watch.start(signal);
    } catch (error) {
      this.#watches.delete(watch);
      throw error;
    }
    return {
      status: 200,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-cache, private' },
      body: watch.lines(signal),
    };
  }

  /**
   * Ends every watch: `cut` breaks its connection, `end` ends the response normally, and `expire` ends it with a 410
   * error event.
   */
  end(how: 'cut' | 'end' | 'expire'): void {
    for (const watch of [...this.#watches]) watch[how]();
  }

  /** Sends a bookmark on every watch that requested bookmarks. */
  sendBookmarks(): void {
    for (const watch of this.#watches) watch.bookmark();
  }
}
