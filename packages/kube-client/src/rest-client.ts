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

/** The components of {@link RestClient}. All but the transport have a default. */
export interface RestClientComponents {
  readonly transport: HttpTransport;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** Default: no metrics. */
  readonly metrics?: Metrics;
  /** The rate limit of requests. Default: no limit. */
  readonly rateLimiter?: RateLimiter | undefined;
}

export interface RestClientOptions {
  /** The value of the label `host` of the metrics. Default: empty. */
  readonly host?: string;
  /** The value of the header `User-Agent`. Default: `node-agent`. */
  readonly userAgent?: string;
  /** The timeout of one request including retries, in milliseconds. Default: 65,000 (the server times out at 60 s). */
  readonly timeoutMs?: number;
  /** How often a request is repeated if the server sends `Retry-After`. Default: 10. */
  readonly maxRetries?: number;
  /**
   * The size limit of a response, in bytes. Default: 256 MiB. The limit of a watch event is 16 MiB, as in client-go.
   */
  readonly maxResponseBytes?: number;
}

/** The location of one object. */
export interface ObjectKey {
  readonly name: string;
  /** Required for a namespaced resource. */
  readonly namespace?: string | undefined;
}

/** Options of all writes. */
export interface WriteOptions {
  /** Whether the server validates the request and responds, but stores nothing. */
  readonly dryRun?: boolean;
  /** The owner of the written fields (KEP-555). Default: the first word of the user agent. */
  readonly fieldManager?: string;
}

export interface PatchOptions extends ObjectKey, WriteOptions {
  /** The subresource to write, such as `status` or `resize`. Default: the object itself. */
  readonly subresource?: string;
}

export interface DeleteOptions extends ObjectKey {
  /** Conditions on the object's UID and resource version. If they do not hold, the server responds with `Conflict`. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  /** The grace period of the deletion, in seconds. Default: the grace period of the object. 0: delete immediately. */
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
  readonly dryRun?: boolean;
}

/** Selects the objects of a collection. At least one selector is required, so that no call deletes all objects. */
export interface DeleteCollectionOptions {
  /** The namespace of the objects. Default: all namespaces, for a namespaced resource. */
  readonly namespace?: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

/** One page of a list, or the whole list. */
export interface ObjectList<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  /** The token for the next page. The token is `undefined` on the last page. */
  readonly continue: string | undefined;
}

/**
 * Sends requests to an API server, with plain JSON in both directions: objects are exactly as the server sends them,
 * unknown fields included. In lists and watches, whose objects are only read, an integer beyond 2^53 is rounded to the
 * nearest number.
 *
 * Every method throws {@link KubeError}: with the server's reason, `ConnectionFailed`, `DeadlineExceeded`, `Aborted`
 * (its cause is the signal's reason), `InvalidResponse` or `InvalidRequest`. The constructor does no I/O.
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

  /** Reads an object. With `resourceVersion` `0`, the server may respond from its cache. @throws KubeError */
  async get<T>(
    resource: Resource<T>,
    { name, namespace, resourceVersion }: ObjectKey & { readonly resourceVersion?: string },
    signal?: AbortSignal,
  ): Promise<T> {
    const path = withQuery(objectPath(resource, { name, namespace }), { resourceVersion });
    return await this.#object<T>({ method: 'GET', path, headers: this.#headers }, signal);
  }

  /** Reads one page of a collection, or all of it if `limit` is unset. @throws KubeError */
  async list<T>(resource: Resource<T>, options: ListOptions = {}, signal?: AbortSignal): Promise<ObjectList<T>> {
    const { namespace, ...query } = options;
    const path = withQuery(collectionPath(resource, namespace), query);
    const list = await this.#record({ method: 'GET', path, headers: this.#headers }, signal, parseObjects);
    return listOf(resource, list);
  }

  /**
   * Creates an object in the namespace of its metadata. @returns the object as the server stored it @throws KubeError
   * `AlreadyExists`, ...
   */
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
   * Posts to a subresource of an object: `token` of a service account, `eviction` or `binding` of a pod. The response
   * has the same type as `body`. @throws KubeError
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

  /**
   * Replaces an object, or its `subresource`. @throws KubeError `Conflict` if the object's resource version is not the
   * newest
   */
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

  /** Patches an object, or its `subresource`. @throws KubeError */
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

  /**
   * Requests the deletion of an object; the server may complete it later. @throws KubeError `NotFound`, `Conflict`, ...
   */
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
   * Requests the deletion of the objects of a collection that match the selectors. @throws KubeError `InvalidRequest`
   * without a selector
   */
  async deleteCollection<T>(
    resource: Resource<T>,
    { namespace, ...selectors }: DeleteCollectionOptions,
    signal?: AbortSignal,
  ): Promise<void> {
    if (!selectors.fieldSelector && !selectors.labelSelector) {
      const message = `delete ${resource.plural}: fieldSelector or labelSelector is required`;
      throw new KubeError({ code: 'InvalidRequest', message });
    }
    const path = withQuery(collectionPath(resource, namespace), { ...selectors });
    await this.#requester.send({ method: 'DELETE', path, headers: this.#headers }, signal);
  }

  /**
   * Watches a collection from a resource version on. Resolves when the server has started to respond. The events end
   * when the server ends the watch; the caller must read them to the end or leave the iterator. A watch has no deadline
   * and does not count against the rate limit.
   * @throws KubeError also while iterating: the error of an `ERROR` event, or `ConnectionFailed` if the connection
   * broke
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

  /** Reads the JSON at any path (`/version`, `/apis/...`). @throws KubeError */
  async getPath(path: string, signal?: AbortSignal): Promise<unknown> {
    return parseJson(await this.#requester.send({ method: 'GET', path, headers: this.#headers }, signal));
  }

  #post<S>(path: string, body: object, options: WriteOptions, signal: AbortSignal | undefined): Promise<S> {
    return this.#object<S>(this.#withBody('POST', withQuery(path, writeQuery(options)), body), signal);
  }

  #withBody(method: HttpRequest['method'], path: string, body: object, type = 'application/json'): HttpRequest {
    return { method, path, headers: { ...this.#headers, 'content-type': type }, body: JSON.stringify(body) };
  }

  #object<T>(request: HttpRequest, signal: AbortSignal | undefined): Promise<T> {
    // By the API's contract, the response for a resource has the type of that resource.
    return this.#record(request, signal) as Promise<T>;
  }

  async #record(
    request: HttpRequest,
    signal: AbortSignal | undefined,
    parse: (text: string) => unknown = parseJson,
  ): Promise<Readonly<Record<string, unknown>>> {
    const value = parse(await this.#requester.send(request, signal));
    if (isRecord(value)) return value;
    const message = `${request.method.toLowerCase()} ${request.path}: the response must be an object`;
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

/** Adds `kind` and `apiVersion` to the items of a list: the server leaves them out in lists but not in watches. */
function listOf<T>(resource: Resource<T>, list: Readonly<Record<string, unknown>>): ObjectList<T> {
  const metadata = isRecord(list.metadata) ? list.metadata : undefined;
  const items = list.items ?? [];
  if (metadata === undefined || !Array.isArray(items)) {
    throw new KubeError({ code: 'InvalidResponse', message: `list ${resource.plural}: the response must be a list` });
  }
  const { resourceVersion, continue: next } = metadata;
  const type = typeOf(resource);
  return {
    items: items.map((item: unknown) => ({ ...type, ...itemOf(resource, item) }) as T),
    resourceVersion: typeof resourceVersion === 'string' ? resourceVersion : '',
    continue: typeof next === 'string' && next !== '' ? next : undefined,
  };
}

/** Checks that a list item has a name: all readers of lists rely on names. @throws KubeError `InvalidResponse` */
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
