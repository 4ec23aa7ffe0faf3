import { type Clock, checkComponents, checkOptions, systemClock } from '@node-agent/async';
import { type Logger, type Metrics, noMetrics, silentLogger } from '@node-agent/telemetry';
import { KubeError } from './errors.ts';
import { isRecord, parseJson, parseObjects } from './json.ts';
import { lines } from './lines.ts';
import { restClientMetrics } from './metrics.ts';
import { type Patch, patchContentType } from './patch.ts';
import { type ListOptions, type WatchOptions, withQuery } from './query.ts';
import type { RateLimiter } from './rate-limiter.ts';
import { Requester } from './requester.ts';
import {
  apiVersionOf,
  collectionPath,
  type KubeObject,
  type NewObject,
  objectPath,
  type Resource,
} from './resource.ts';
import type { HttpRequest, HttpTransport } from './transport.ts';
import { parseWatchEvent, type WatchEvent } from './watch-events.ts';

/** What {@link RestClient} works with; all but the transport has a default. */
export interface RestClientComponents {
  readonly transport: HttpTransport;
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** Silent where absent. */
  readonly logger?: Logger;
  /** Counted nowhere where absent. */
  readonly metrics?: Metrics;
  /** None where absent. */
  readonly rateLimiter?: RateLimiter | undefined;
}

export interface RestClientOptions {
  /** The label `host` of the metrics; empty where absent. */
  readonly host?: string;
  /** `node-agent` where absent. */
  readonly userAgent?: string;
  /** For one request with all its retries, in milliseconds; 65,000 where absent (the server itself gives up at 60 s). */
  readonly timeoutMs?: number;
  /** How often a request is sent again where the server asks for it with `Retry-After`; 10 where absent. */
  readonly maxRetries?: number;
  /** What an answer may measure, in bytes; 256 MiB where absent. An event of a watch: 16 MiB, as in client-go. */
  readonly maxResponseBytes?: number;
}

/** The place of one object. */
export interface ObjectKey {
  readonly name: string;
  /** Must be there for a namespaced resource. */
  readonly namespace?: string | undefined;
}

/** What every write may say. */
export interface WriteOptions {
  /** The server checks and answers, and stores nothing. */
  readonly dryRun?: boolean;
  /** Who owns the fields written (KEP-555); the user agent's first word where absent. */
  readonly fieldManager?: string;
}

export interface PatchOptions extends ObjectKey, WriteOptions {
  /** `status`, `resize`, ... */
  readonly subresource?: string;
}

export interface DeleteOptions extends ObjectKey {
  /** Refused with `Conflict` where the object of that name has another UID or resource version. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  /** The object's own where absent; 0: at once. */
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
  readonly dryRun?: boolean;
}

/** One page of a list, or all of it. */
export interface ObjectList<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  /** Where the next page begins; `undefined` on the last. */
  readonly continue: string | undefined;
}

/**
 * Requests of an API server, with plain JSON in and out: objects are exactly what the wire had, unknown fields included. Of lists and
 * watches, whose objects are looked at and not written back, an integer beyond 2^53 is the nearest number.
 * Every method throws {@link KubeError}: with the server's reason, `ConnectionFailed`, `DeadlineExceeded`, `Aborted` (its
 * cause is the signal's reason), `InvalidResponse` or `InvalidRequest`. Construction does no I/O.
 */
export class RestClient {
  readonly #requester: Requester;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(components: RestClientComponents, options: RestClientOptions = {}) {
    checkOptions('RestClient', options, {
      host: 'string?',
      userAgent: 'string?',
      timeoutMs: 'positive?',
      maxRetries: 'count?',
      maxResponseBytes: 'limit?',
    });
    checkComponents('RestClient', components, { transport: ['request'] });
    const { transport, clock = systemClock, logger = silentLogger, metrics = noMetrics, rateLimiter } = components;
    const {
      host = '',
      userAgent = 'node-agent',
      timeoutMs = 65_000,
      maxRetries = 10,
      maxResponseBytes = 1 << 28,
    } = options;
    this.#requester = new Requester(
      { transport, clock, logger, metrics: restClientMetrics(metrics), rateLimiter },
      { host, timeoutMs, maxRetries, maxResponseBytes },
    );
    this.#headers = { accept: 'application/json', 'user-agent': userAgent };
  }

  /** An object as the server has it; with `resourceVersion` `0`, as its cache has it. @throws KubeError */
  async get<T>(
    resource: Resource<T>,
    { name, namespace, resourceVersion }: ObjectKey & { readonly resourceVersion?: string },
    signal?: AbortSignal,
  ): Promise<T> {
    const path = withQuery(objectPath(resource, { name, namespace }), { resourceVersion });
    return await this.#object<T>({ method: 'GET', path, headers: this.#headers }, signal);
  }

  /** One page of a collection: all of it where no `limit` is given. @throws KubeError */
  async list<T>(resource: Resource<T>, options: ListOptions = {}, signal?: AbortSignal): Promise<ObjectList<T>> {
    const { namespace, ...query } = options;
    const path = withQuery(collectionPath(resource, namespace), query);
    const list = await this.#record({ method: 'GET', path, headers: this.#headers }, signal, parseObjects);
    return listOf(resource, list);
  }

  /** Makes an object, in the namespace that its metadata say. @returns what the server made of it @throws KubeError `AlreadyExists`, ... */
  async create<T extends object>(
    resource: Resource<T>,
    object: NewObject<T> & object,
    options: WriteOptions = {},
    signal?: AbortSignal,
  ): Promise<T> {
    const namespace = namespaceOf(object);
    if (resource.namespaced && namespace === undefined) {
      throw new KubeError({ code: 'InvalidRequest', message: `${resource.plural}: a namespace is missing` });
    }
    const typed = { ...typeOf(resource), ...object };
    return await this.#post<T>(collectionPath(resource, namespace), typed, options, signal);
  }

  /**
   * Posts to an object's subresource: `token` of a service account, `eviction` and `binding` of a pod. What comes back has
   * the type of what was sent. @throws KubeError
   */
  async createSubresource<S extends object>(
    resource: Resource<unknown>,
    path: ObjectKey & { readonly subresource: string },
    object: S,
    options: WriteOptions = {},
    signal?: AbortSignal,
  ): Promise<S> {
    if (path.subresource === undefined) {
      throw new KubeError({ code: 'InvalidRequest', message: `${resource.plural}: a subresource is missing` });
    }
    return await this.#post<S>(objectPath(resource, path), object, options, signal);
  }

  /** Replaces an object, or its `subresource`. @throws KubeError `Conflict` where its resource version is not the newest */
  async update<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    options: WriteOptions & { readonly subresource?: string } = {},
    signal?: AbortSignal,
  ): Promise<T> {
    const { name, namespace } = object.metadata;
    const { subresource, ...write } = options;
    const path = withQuery(objectPath(resource, { name, namespace, subresource }), writeQuery(write));
    return await this.#object<T>(this.#withBody('PUT', path, object), signal);
  }

  /** Changes an object, or its `subresource`. @throws KubeError */
  async patch<T>(resource: Resource<T>, patch: Patch, options: PatchOptions, signal?: AbortSignal): Promise<T> {
    const { name, namespace, subresource, ...write } = options;
    const query =
      patch.type === 'apply'
        ? { ...writeQuery(write), fieldManager: patch.fieldManager, force: patch.force }
        : writeQuery(write);
    const path = withQuery(objectPath(resource, { name, namespace, subresource }), query);
    const request = this.#withBody('PATCH', path, patch.body, patchContentType(patch.type));
    return await this.#object<T>(request, signal);
  }

  /** Deletes an object, or begins to. @throws KubeError `NotFound`, `Conflict`, ... */
  async delete<T>(resource: Resource<T>, options: DeleteOptions, signal?: AbortSignal): Promise<void> {
    const { name, namespace, dryRun, preconditions, gracePeriodSeconds, propagationPolicy } = options;
    const path = objectPath(resource, { name, namespace });
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions,
      gracePeriodSeconds,
      propagationPolicy,
      dryRun: dryRun ? ['All'] : undefined,
    };
    await this.#requester.send(this.#withBody('DELETE', path, body), signal);
  }

  /**
   * The changes of a collection, from a resource version on. Resolves when the server has begun to answer; the events end
   * when the server ends them, and must be read on or left. It has no deadline and is not counted against the rate limit.
   * @throws KubeError also while iterating: what an `ERROR` event says, `ConnectionFailed` for a connection that broke
   */
  async watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions = {},
    signal?: AbortSignal,
  ): Promise<AsyncIterable<WatchEvent<T>>> {
    const { namespace, ...query } = options;
    const path = withQuery(collectionPath(resource, namespace), { ...query, watch: true });
    const { body } = await this.#requester.open({ method: 'GET', path, headers: this.#headers }, signal);
    return events<T>(body, signal);
  }

  /** The JSON at any path (`/version`, `/apis/...`). @throws KubeError */
  async getPath(path: string, signal?: AbortSignal): Promise<unknown> {
    return parseJson(await this.#requester.send({ method: 'GET', path, headers: this.#headers }, signal));
  }

  async #post<S>(path: string, body: object, options: WriteOptions, signal: AbortSignal | undefined): Promise<S> {
    return await this.#object<S>(this.#withBody('POST', withQuery(path, writeQuery(options)), body), signal);
  }

  #withBody(method: HttpRequest['method'], path: string, body: object, type = 'application/json'): HttpRequest {
    return { method, path, headers: { ...this.#headers, 'content-type': type }, body: JSON.stringify(body) };
  }

  async #object<T>(request: HttpRequest, signal: AbortSignal | undefined): Promise<T> {
    // What the server sends for a resource has that resource's type: that is the contract of the API.
    return (await this.#record(request, signal)) as T;
  }

  async #record(
    request: HttpRequest,
    signal: AbortSignal | undefined,
    parse: (text: string) => unknown = parseJson,
  ): Promise<Readonly<Record<string, unknown>>> {
    const value = parse(await this.#requester.send(request, signal));
    if (isRecord(value)) return value;
    const message = `${request.method.toLowerCase()} ${request.path}: the answer is no object`;
    throw new KubeError({ code: 'InvalidResponse', message });
  }
}

function namespaceOf(object: object): string | undefined {
  const metadata = 'metadata' in object && isRecord(object.metadata) ? object.metadata : {};
  return typeof metadata.namespace === 'string' ? metadata.namespace : undefined;
}

async function* events<T extends KubeObject>(
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<WatchEvent<T>, void, undefined> {
  try {
    for await (const line of lines(body)) {
      const event = parseWatchEvent<T>(line);
      if (event !== undefined) yield event;
    }
  } catch (error) {
    if (signal?.aborted)
      throw new KubeError({ code: 'Aborted', message: 'the watch was aborted', cause: signal.reason });
    throw KubeError.from(error);
  }
}

/** Items of a list say neither `kind` nor `apiVersion`, those of a watch do: here both do. */
function listOf<T>(resource: Resource<T>, list: Readonly<Record<string, unknown>>): ObjectList<T> {
  const metadata = isRecord(list.metadata) ? list.metadata : undefined;
  const items = list.items ?? [];
  if (metadata === undefined || !Array.isArray(items)) {
    throw new KubeError({ code: 'InvalidResponse', message: `list ${resource.plural}: the answer is no list` });
  }
  const { resourceVersion, continue: next } = metadata;
  const type = typeOf(resource);
  return {
    items: items.map((item: unknown) => ({ ...type, ...itemOf(resource, item) }) as T),
    resourceVersion: typeof resourceVersion === 'string' ? resourceVersion : '',
    continue: typeof next === 'string' && next !== '' ? next : undefined,
  };
}

/** Whatever reads a list goes by the names in it. @throws KubeError `InvalidResponse` */
function itemOf(resource: Resource<unknown>, item: unknown): object {
  if (isRecord(item) && isRecord(item.metadata) && typeof item.metadata.name === 'string') return item;
  throw new KubeError({ code: 'InvalidResponse', message: `list ${resource.plural}: an item has no name` });
}

function typeOf(resource: Resource<unknown>): { readonly apiVersion: string; readonly kind: string } {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind };
}

function writeQuery({ dryRun, fieldManager }: WriteOptions): Readonly<Record<string, string | undefined>> {
  return { dryRun: dryRun ? 'All' : undefined, fieldManager };
}
