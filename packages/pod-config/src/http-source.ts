import { type Clock, checkComponents, checkOptions, StartOnce, sleep } from '@node-agent/async';
import { type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { isGood, keepLastGood, type ManifestState, mergeManifests } from './last-good.ts';
import { LastGoodMemory } from './last-good-memory.ts';
import type { LastGoodStore } from './last-good-store.ts';
import type { ManifestReading } from './manifest.ts';
import { ManifestReader, type ReadApart } from './manifest-reader.ts';
import { type ManifestUrl, splitCredentials } from './manifest-url.ts';
import type { SetPods } from './pod-config.ts';
import type { PodSchema } from './pod-schema.ts';
import type { ManifestProblem } from './problem.ts';
import { ProblemLog } from './problem-log.ts';

/** The used part of a {@link Fetch} response; satisfied by a web `Response`. */
export interface FetchResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: AsyncIterable<Uint8Array> | null;
}

/** Requests a URL; `globalThis.fetch` satisfies this type. Rejects when `signal` is aborted. */
export type Fetch = (
  url: string,
  init: { readonly headers: [string, string][]; readonly signal: AbortSignal },
) => Promise<FetchResponse>;

/** Components of a {@link HttpSource}. */
export interface HttpSourceComponents {
  readonly fetch: Fetch;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** Schema of pods. Default: the v1 Pod of `@node-agent/pod-spec`. */
  readonly schema?: PodSchema;
  /** Reads manifests above 32 KiB, unless `schema` is set. Default: a worker thread. */
  readonly readApart?: ReadApart;
  /** Receives all pods whenever they have changed: `podConfig.addSource('http')`. */
  readonly set: SetPods;
  /**
   * Store of the last valid response for the next start. If absent, there are no pods until the first valid response.
   */
  readonly lastGood?: LastGoodStore;
}

export interface HttpSourceOptions {
  /**
   * URL of the manifest (`staticPodURL`), optionally with user and password. The UIDs of its pods depend on this text.
   */
  readonly url: string;
  readonly nodeName: string;
  /** Headers of each request, with all values per name (`staticPodURLHeader`). Never logged. */
  readonly headers?: Readonly<Record<string, readonly string[]>>;
  /** Delay from the end of one request to the next (`httpCheckFrequency`). Default: 20 s. */
  readonly periodMs?: number;
  /** Time limit of a request including its body. Default: 10 s, as upstream. */
  readonly timeoutMs?: number;
  /** Largest response that is read. Default: 1 MiB (upstream: 10 MiB). */
  readonly limitBytes?: number;
}

/** A token of RFC 9110. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/;
/** Characters that a header value must not contain: control characters other than tab. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/;

const DEFAULTS = { periodMs: 20_000, timeoutMs: 10_000, limitBytes: 1 << 20 };

/**
 * The pods of a manifest behind a URL (`pkg/kubelet/config/http.go`), requested once per period, with `If-None-Match`
 * if the server sent an `ETag`. If a response is an error, too large, late, empty or invalid, the last valid pods are
 * kept (F2); with `lastGood` also across restarts. Until there is a valid response, or a valid saved response, the
 * source is not ready (F1). Exception: an empty response means that there are no pods yet.
 */
export class HttpSource {
  readonly #components: WithDefaults<HttpSourceComponents>;
  readonly #options: HttpSourceOptions & typeof DEFAULTS;
  readonly #log: ProblemLog;
  readonly #target: ManifestUrl;
  readonly #memory: LastGoodMemory;
  readonly #reader: ManifestReader;
  #etag: string | undefined;
  #bytes: Uint8Array | undefined;
  #state: ManifestState | undefined;
  readonly #startOnce = new StartOnce('HttpSource');

  constructor(given: HttpSourceComponents, options: HttpSourceOptions) {
    const asked = checkOptions('HttpSource', options, {
      url: 'string',
      nodeName: 'string',
      headers: 'object?',
      periodMs: 'positive?',
      timeoutMs: 'positive?',
      limitBytes: 'limit?',
    });
    checkComponents('HttpSource', given, { fetch: 'function', set: 'function' });
    const components = withDefaults(given);
    this.#components = components;
    this.#options = { ...DEFAULTS, ...asked };
    this.#log = new ProblemLog(components.logger);
    this.#target = splitCredentials(options.url);
    this.#memory = new LastGoodMemory(components.lastGood, components.logger);
    this.#reader = new ManifestReader(components, components.schema, components.readApart);
  }

  /** Current problems of the response or the request. */
  get problems(): readonly ManifestProblem[] {
    return this.#log.problems;
  }

  /** Requests the manifest once per period until `signal` is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const { periodMs } = this.#options;
    while (!signal.aborted) {
      await this.#memory.rememberUnsaved();
      try {
        await this.#look(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#log.update([{ source: this.#target.url, message: messageOf(error) }]);
        const recalled = this.#state === undefined ? await this.#recall() : undefined;
        if (recalled !== undefined) this.#take(recalled);
      }
      await sleep(this.#components.clock, periodMs, signal).catch(() => {});
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const answer = await this.#get(signal);
    if (answer === undefined && this.#etag === undefined) {
      throw new Error('answered 304 Not Modified to a request without a condition');
    }
    const known =
      answer === undefined || (this.#bytes !== undefined && Buffer.compare(answer.bytes, this.#bytes) === 0);
    if (known) return this.#log.update(this.#state?.problems ?? []);
    if (answer.bytes.length === 0) {
      if (this.#state === undefined) this.#take((await this.#recall()) ?? { pods: [], problems: [] });
      throw new Error('the answer has no content');
    }
    const reading = await this.#read(answer.bytes);
    const good = isGood(reading);
    if (good) await this.#memory.remember(this.#target.url, answer.bytes);
    const previous = good ? undefined : (this.#state ?? (await this.#recall()));
    const state = mergeManifests(new Map([[this.#target.url, keepLastGood(previous, reading)]]));
    this.#log.update(state.problems);
    // An entirely invalid first response leaves the source not ready.
    if (previous === undefined && !good && state.pods.length === 0) return;
    this.#bytes = answer.bytes;
    this.#etag = answer.etag;
    this.#take(state);
  }

  async #read(bytes: Uint8Array): Promise<ManifestReading> {
    const { url, nodeName } = this.#options;
    const origin = { kind: 'http', location: url, nodeName } as const;
    const { pods, problems } = await this.#reader.read(bytes, origin);
    return { pods, problems: problems.map((problem) => ({ ...problem, source: this.#target.url })) };
  }

  #recall(): Promise<ManifestState | undefined> {
    return this.#memory.recall(this.#target.url, (bytes) => this.#read(bytes));
  }

  #take(state: ManifestState): void {
    this.#state = state;
    this.#components.set(state.pods);
  }

  /** Returns the response; `undefined` if it is unchanged. @throws for any response other than 200 or unchanged */
  async #get(outer: AbortSignal): Promise<Answer | undefined> {
    const { timeoutMs, limitBytes, headers = {} } = this.#options;
    const { url, authorization } = this.#target;
    const controller = new AbortController();
    const onAbort = (): void => controller.abort(outer.reason);
    outer.addEventListener('abort', onAbort, { once: true });
    const timer = this.#components.clock.setTimer(timeoutMs, () => {
      controller.abort(new Error(`no complete response within ${timeoutMs} ms`));
    });
    try {
      outer.throwIfAborted();
      const pairs = Object.entries(headers).flatMap(([name, values]) => values.map((value) => pair(name, value)));
      // As in Go's client, a configured header takes precedence over the URL's credentials.
      const isGiven = pairs.some(([name]) => name.toLowerCase() === 'authorization');
      if (authorization !== undefined && !isGiven) pairs.push(['Authorization', authorization]);
      if (this.#etag !== undefined) pairs.push(['If-None-Match', this.#etag]);
      const response = await this.#components.fetch(url, { headers: pairs, signal: controller.signal });
      if (response.status === 304) return undefined;
      if (response.status !== 200) throw new Error(`answered with status ${response.status}`);
      return { bytes: await readBody(response, limitBytes), etag: response.headers.get('etag') ?? undefined };
    } finally {
      timer.cancel();
      outer.removeEventListener('abort', onAbort);
      // If the body was not read to its end, this closes the connection.
      controller.abort(new Error('done'));
    }
  }
}

interface Answer {
  readonly bytes: Uint8Array;
  readonly etag: string | undefined;
}

async function readBody({ body }: FetchResponse, limitBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > limitBytes) throw new Error(`the answer is larger than ${limitBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Returns a header as it is sent: the value as UTF-8 bytes, as Go's client sends it.
 * @throws Error if HTTP cannot represent the header; the value does not appear in the message (W4)
 */
function pair(name: string, value: string): [string, string] {
  if (!HEADER_NAME.test(name)) throw new Error(`invalid header field name ${JSON.stringify(name)}`);
  if (CONTROL.test(value)) throw new Error(`invalid header field value for ${JSON.stringify(name)}`);
  return [name, Buffer.from(value).toString('latin1')];
}

/** Returns the error's message with those of its causes; `fetch` itself only says "fetch failed". */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${messageOf(error.cause)}`;
}
