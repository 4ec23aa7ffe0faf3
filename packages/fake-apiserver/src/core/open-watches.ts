import type { HttpResponse } from '../transport.ts';
import type { Call } from './call.ts';
import { parseListOptions } from './list-options.ts';
import { inForm, negotiate } from './negotiate.ts';
import type { ServerState, Target } from './state.ts';
import { Watch, type WatchSettings } from './watch.ts';

/** The watches that are open: each begins with a request, and is ended by its client, its time, a fault or the server. */
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

  /** Begins one, and answers with its events. @throws ApiFailure where its options or its resource version will not do */
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

  /** Breaks the connection of each, or ends it as a server does, or has it end with an error of 410. */
  end(how: 'cut' | 'end' | 'expire'): void {
    for (const watch of [...this.#watches]) watch[how]();
  }

  /** Sends a bookmark to each that asked for them. */
  sendBookmarks(): void {
    for (const watch of this.#watches) watch.bookmark();
  }
}
