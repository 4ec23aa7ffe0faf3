import { type Clock, linkAbort, type Random, systemClock, systemRandom } from '@node-agent/async';
import { type Answer, failureAnswer, jsonAnswer, toResponse } from './core/answer.ts';
import { type Call, named, parsePath } from './core/call.ts';
import { type CertificateSigner, removeEmptyNamespace, signApproved } from './core/controllers.ts';
import { decodeBody } from './core/decode.ts';
import { ApiFailure, unauthorized } from './core/failure.ts';
import { Guard } from './core/guard.ts';
import { clone, type JsonObject, metadataOf, textAt } from './core/json.ts';
import { OpenWatches } from './core/open-watches.ts';
import { pathAnswer } from './core/path-answer.ts';
import { ResourceApi } from './core/resource-api.ts';
import { type Authorizer, review } from './core/reviews.ts';
import { attributesOf, type Route, route } from './core/route.ts';
import { randomUuid, type ServerState } from './core/state.ts';
import { type Change, Store } from './core/store.ts';
import { timestamp } from './core/time.ts';
import { TokenIssuer } from './core/tokens.ts';
import { ConnectionFault } from './faults/connection-fault.ts';
import type { RequestAttributes, RequestFault } from './faults/fault.ts';
import { FaultInjector } from './faults/injector.ts';
import { statusFault } from './faults/status-fault.ts';
import { suffer } from './faults/suffer.ts';
import { truncated } from './faults/truncate.ts';
import { apiVersionOf, keyOf, type UserInfo } from './resources/definition.ts';
import { registry } from './resources/registry.ts';
import type { HttpRequest, HttpResponse, HttpTransport } from './transport.ts';

/** Dependencies of a {@link FakeApiServer}. */
export interface FakeApiServerComponents {
  /** Clock of the server, for timestamps and timeouts. Default: the system clock. */
  readonly clock?: Clock;
  /**
   * Source of UIDs, generated names and watch timeouts: the same seed gives the same values. Default: the system's
   * random numbers.
   */
  readonly random?: Random;
}

/** Options of a {@link FakeApiServer}. */
export interface FakeApiServerOptions {
  /** Users by bearer token, in addition to service account tokens. */
  readonly tokens?: Readonly<Record<string, UserInfo>>;
  /**
   * User of requests without credentials. If `null`, requests without credentials are rejected with 401. Default:
   * `kubernetes-admin` in the group `system:masters`.
   */
  readonly anonymous?: UserInfo | null;
  /** Authorizes requests. Default: everything is allowed. */
  readonly authorize?: Authorizer;
  /** Signs approved certificate signing requests. Default: approved requests stay unsigned. */
  readonly signer?: CertificateSigner;
  /** The server's own token audiences. Default: `https://kubernetes.default.svc.cluster.local`. */
  readonly audiences?: readonly string[];
  /** Number of past writes that are kept for watches and past lists. Default: 5000. */
  readonly historyLimit?: number;
  /** Interval of watch bookmarks, in milliseconds. Default: 60 s. */
  readonly bookmarkIntervalMs?: number;
  /**
   * Minimum duration of a watch without its own timeout, in milliseconds. The server ends such a watch after a random
   * time between this value and twice this value. Default: 30 min.
   */
  readonly minRequestTimeoutMs?: number;
}

/** A request and its response status, for tests that count requests. */
export interface AuditEntry extends RequestAttributes {
  readonly atMs: number;
  /** Status code of the response. `undefined` if the connection broke. */
  readonly status: number | undefined;
  readonly fault: RequestFault | undefined;
}

const NAMESPACES = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];
const FIRST_REVISION = 100;
const NAMESPACED = registry.filter(
  (one, index) => one.namespaced && registry.findIndex((other) => other.storage === one.storage) === index,
);

/**
 * An in-memory Kubernetes API server that follows the real server's rules. State changes only through its clock and
 * requests, so the same seed gives the same run. The server opens no sockets: it implements the transport interface.
 * {@link FakeApiServerHttp} serves a fake API server over the network.
 */
export class FakeApiServer implements HttpTransport {
  /** The faults to inject. */
  readonly faults: FaultInjector = new FaultInjector();
  readonly #state: ServerState;
  readonly #options: FakeApiServerOptions;
  readonly #guard: Guard;
  readonly #api: ResourceApi;
  readonly #watches: OpenWatches;
  readonly #reachability = new Set<(reachable: boolean) => void>();
  #life = new AbortController();
  #onRequest: (entry: AuditEntry) => void = () => {};
  #services = 0;

  constructor(
    { clock = systemClock, random = systemRandom }: FakeApiServerComponents = {},
    options: FakeApiServerOptions = {},
  ) {
    const { historyLimit, bookmarkIntervalMs = 60_000, minRequestTimeoutMs = 1_800_000 } = options;
    const { audiences = ['https://kubernetes.default.svc.cluster.local'] } = options;
    const store = new Store({ revision: FIRST_REVISION, ...(historyLimit === undefined ? {} : { historyLimit }) });
    this.#options = { ...options, audiences };
    this.#state = {
      clock,
      random,
      store,
      uid: () => randomUuid(random),
      context: (user) => ({
        user,
        nowMs: clock.now(),
        lookup: (storage, key) => store.get(storage, key),
        all: (storage) => store.list(storage).values(),
        serviceIp: () => this.#nextServiceIp(),
      }),
    };
    this.#watches = new OpenWatches(this.#state, { bookmarkIntervalMs, minRequestTimeoutMs });
    const tokens = new TokenIssuer(this.#state, audiences);
    this.#guard = new Guard({ ...options, audiences }, tokens);
    this.#api = new ResourceApi(this.#state, tokens, NAMESPACED);
    store.subscribe((change) => this.#control(change));
    this.#makeNamespaces();
  }

  /** Whether the server accepts connections. */
  get reachable(): boolean {
    return !this.#life.signal.aborted;
  }

  /** Resource version of the latest write. */
  get revision(): number {
    return this.#state.store.revision;
  }

  /** Number of open watches. */
  get watchCount(): number {
    return this.#watches.size;
  }

  /**
   * Handles a request. `user` is the user of a client certificate. If `user` is absent, the bearer token identifies the
   * user.
   * @throws ConnectionFault if the connection is refused or breaks; the signal's reason if the signal is aborted
   */
  async request(request: HttpRequest, signal?: AbortSignal, user?: UserInfo): Promise<HttpResponse> {
    signal?.throwIfAborted();
    if (!this.reachable) throw new ConnectionFault('ECONNREFUSED', 'API server refuses connections');
    const { path, query } = parsePath(request.path);
    let to: Route = { kind: 'path', path };
    let who = user;
    let early: ApiFailure | undefined;
    try {
      who ??= this.#guard.authenticate(request);
      to = route(request.method, path, query);
    } catch (error) {
      early = ApiFailure.from(error);
    }
    const attributes = named(attributesOf(to, request.method, path, who?.name ?? ''), request);
    const fault = this.faults.nextFault(attributes);
    const record = (status: number | undefined): void =>
      this.#onRequest({ ...attributes, atMs: this.#state.clock.now(), status, fault });
    const link = linkAbort(signal, this.#life.signal);
    try {
      if (fault !== undefined) await suffer(fault, this.#state.clock, link.signal);
      const response =
        early !== undefined || who === undefined
          ? toResponse(failureAnswer(early ?? unauthorized()))
          : await this.#respond({ request, query, to, user: who, fault }, signal, link.signal);
      record(response.status);
      return response;
    } catch (error) {
      record(undefined);
      throw error;
    } finally {
      link[Symbol.dispose]();
    }
  }

  /** Calls `listener` for each request after its response. Replaces the previous listener. */
  onRequest(listener: (entry: AuditEntry) => void): void {
    this.#onRequest = listener;
  }

  /**
   * Returns the objects of a collection in their stored form, by plural name. The caller must not modify the returned
   * objects.
   */
  objects(plural: string): readonly JsonObject[] {
    return [...this.#state.store.list(plural).values()];
  }

  /**
   * Stores an object without validation and defaulting. The fields that the server always sets, such as the UID, are
   * set if they are absent.
   * @throws TypeError if the kind is unknown or the object has no name
   */
  put(object: JsonObject): JsonObject {
    const definition = registry.find((one) => one.kind === object.kind && apiVersionOf(one) === object.apiVersion);
    if (definition === undefined)
      throw new TypeError(`put ${String(object.apiVersion)} ${String(object.kind)}: unknown kind`);
    const stored = clone(definition.strategy.toStored?.(object) ?? object);
    const metadata = metadataOf(stored);
    const name = textAt(metadata, 'name');
    if (name === '') throw new TypeError(`put ${definition.kind}: metadata.name is missing`);
    if (definition.namespaced) metadata.namespace ??= 'default';
    metadata.uid ??= this.#state.uid();
    metadata.creationTimestamp ??= timestamp(this.#state.clock.now());
    return this.#state.store.put(definition.storage, keyOf(definition, textAt(metadata, 'namespace'), name), stored);
  }

  /** Compacts the store: watches and lists of older resource versions get 410. */
  compact(): void {
    this.#state.store.compact();
  }

  /**
   * Ends every watch: `cut` breaks its connection, `end` ends the response normally, and `expire` ends it with a 410
   * error event.
   */
  endWatches(how: 'cut' | 'end' | 'expire'): void {
    this.#watches.end(how);
  }

  /** Sends a bookmark on every watch that requested bookmarks. */
  sendBookmarks(): void {
    this.#watches.sendBookmarks();
  }

  /** Breaks open connections and refuses new ones until {@link acceptConnections} is called. */
  refuseConnections(): void {
    this.#life.abort(new ConnectionFault('ECONNRESET', 'API server closed the connection'));
    this.endWatches('cut');
    for (const listener of this.#reachability) listener(false);
  }

  acceptConnections(): void {
    if (this.reachable) return;
    this.#life = new AbortController();
    for (const listener of this.#reachability) listener(true);
  }

  /**
   * Calls `listener` when the server starts to refuse or to accept connections.
   * @returns a function that removes the listener
   */
  onReachable(listener: (reachable: boolean) => void): () => void {
    this.#reachability.add(listener);
    return () => void this.#reachability.delete(listener);
  }

  /**
   * Deletes the whole store. The initial namespaces remain, and resource versions restart at `revision` (default: 100).
   */
  wipe(revision: number = FIRST_REVISION): void {
    this.endWatches('cut');
    this.#state.store.wipe(revision);
    this.#makeNamespaces();
  }

  async #respond(call: Call, signal: AbortSignal | undefined, linked: AbortSignal): Promise<HttpResponse> {
    const { fault, to } = call;
    try {
      if (fault?.kind === 'status') return toResponse(statusFault(fault));
      this.#guard.authorize(
        attributesOf(to, call.request.method, parsePath(call.request.path).path, call.user.name),
        call.user,
      );
      if (to.kind === 'resource' && to.verb === 'watch') return await this.#watches.open(to.target, call, signal);
      const answer = await this.#answer(call, linked);
      if (fault?.kind === 'answerLost') throw new ConnectionFault('ECONNRESET', 'response was lost');
      return fault?.kind === 'truncate' ? truncated(answer, fault.clean === true) : toResponse(answer);
    } catch (error) {
      if (ConnectionFault.is(error) || linked.aborted) throw error;
      return toResponse(failureAnswer(ApiFailure.from(error)));
    }
  }

  async #answer({ request, query, to, user, fault }: Call, signal: AbortSignal): Promise<Answer> {
    if (to.kind === 'path') return pathAnswer(request.method, to.path);
    if (to.kind === 'review') {
      const body = decodeBody(request.body, request.headers['content-type']);
      const answered = review(to.review, to.namespace, body, {
        user,
        nowMs: this.#state.clock.now(),
        audiences: this.#options.audiences ?? [],
        authenticate: (token, audiences) => this.#guard.whose(token, audiences),
        authorize: this.#options.authorize ?? (() => true),
      });
      return jsonAnswer(201, answered);
    }
    const stale = fault?.kind === 'stale' ? { revisionsBehind: fault.revisionsBehind } : undefined;
    return this.#api.answer(to.verb, { request, query, target: to.target, user, stale, signal });
  }

  /**
   * Performs the work of controllers without which a cluster does not function: signing approved certificate requests
   * and removing empty namespaces.
   */
  #control({ type, storage, key, object }: Change): void {
    const { store, clock } = this.#state;
    const { signer } = this.#options;
    if (signer !== undefined && storage === 'certificatesigningrequests' && type !== 'DELETED') {
      void signApproved(store, object, signer, () => clock.now());
    }
    if (storage === 'namespaces' || type === 'DELETED') {
      const name = storage === 'namespaces' ? key : (key.split('/')[0] ?? '');
      // The removal of the namespace is deferred until the current write has completed.
      queueMicrotask(() => removeEmptyNamespace(store, name, NAMESPACED));
    }
  }

  #nextServiceIp(): string {
    this.#services++;
    return `10.96.${Math.floor(this.#services / 250) % 256}.${(this.#services % 250) + 1}`;
  }

  #makeNamespaces(): void {
    for (const name of NAMESPACES) {
      this.put({
        kind: 'Namespace',
        apiVersion: 'v1',
        metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
        spec: { finalizers: ['kubernetes'] },
        status: { phase: 'Active' },
      });
    }
  }
}
