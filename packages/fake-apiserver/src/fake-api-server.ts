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

/** What a {@link FakeApiServer} lives on. */
export interface FakeApiServerComponents {
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** UIDs, generated names and time-outs come from it: the same seed gives the same ones. The machine's own where absent. */
  readonly random?: Random;
}

/** How a {@link FakeApiServer} is. */
export interface FakeApiServerOptions {
  /** Users by their bearer token, beside the tokens of service accounts. */
  readonly tokens?: Readonly<Record<string, UserInfo>>;
  /** Who sends no credentials; `kubernetes-admin` of `system:masters` by default, and refused with 401 where `null`. */
  readonly anonymous?: UserInfo | null;
  /** Who may do what; everybody everything by default. */
  readonly authorize?: Authorizer;
  /** Signs certificate signing requests that are approved; nobody by default. */
  readonly signer?: CertificateSigner;
  /** The server's own audiences; `https://kubernetes.default.svc.cluster.local` by default. */
  readonly audiences?: readonly string[];
  /** How many writes watches can go back; 5000 by default. */
  readonly historyLimit?: number;
  /** 60 s by default, in milliseconds. */
  readonly bookmarkIntervalMs?: number;
  /** A watch without a time-out of its own ends after this to twice this, in milliseconds; 30 min by default. */
  readonly minRequestTimeoutMs?: number;
}

/** A request and what was answered, for tests that count. */
export interface AuditEntry extends RequestAttributes {
  readonly atMs: number;
  /** The status of the answer; `undefined` where the connection broke. */
  readonly status: number | undefined;
  readonly fault: RequestFault | undefined;
}

const NAMESPACES = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];
const FIRST_REVISION = 100;
const NAMESPACED = registry.filter(
  (one, index) => one.namespaced && registry.findIndex((other) => other.storage === one.storage) === index,
);

/**
 * A Kubernetes API server in memory, with the real one's rules. It moves only by its clock and by requests, and does the
 * same again for the same seed. No sockets: it is the transport; {@link FakeApiServerHttp} puts it on the network.
 */
export class FakeApiServer implements HttpTransport {
  /** What goes wrong. */
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

  /** Whether it answers at all. */
  get reachable(): boolean {
    return !this.#life.signal.aborted;
  }

  /** The resource version of the newest write. */
  get revision(): number {
    return this.#state.store.revision;
  }

  /** How many watches are open. */
  get watchCount(): number {
    return this.#watches.size;
  }

  /**
   * Answers a request. `user` is who a client certificate says it is; without one, the bearer token decides.
   * @throws ConnectionFault where the connection is refused or breaks; the signal's reason
   */
  async request(request: HttpRequest, signal?: AbortSignal, user?: UserInfo): Promise<HttpResponse> {
    signal?.throwIfAborted();
    if (!this.reachable) throw new ConnectionFault('ECONNREFUSED', 'the API server is not there');
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

  /** Calls `listener` for each request, once it is answered; one listener at a time. */
  onRequest(listener: (entry: AuditEntry) => void): void {
    this.#onRequest = listener;
  }

  /** The objects of a collection by its plural name, in their stored form; they must not be changed. */
  objects(plural: string): readonly JsonObject[] {
    return [...this.#state.store.list(plural).values()];
  }

  /**
   * Puts an object as it is, with neither checks nor defaults; what the server always sets is set where it is not there.
   * @throws TypeError where no resource has its kind, or it has no name
   */
  put(object: JsonObject): JsonObject {
    const definition = registry.find((one) => one.kind === object.kind && apiVersionOf(one) === object.apiVersion);
    if (definition === undefined)
      throw new TypeError(`${String(object.apiVersion)} ${String(object.kind)}: no such kind`);
    const stored = clone(definition.strategy.toStored?.(object) ?? object);
    const metadata = metadataOf(stored);
    const name = textAt(metadata, 'name');
    if (name === '') throw new TypeError(`${definition.kind}: metadata.name is missing`);
    if (definition.namespaced) metadata.namespace ??= 'default';
    metadata.uid ??= this.#state.uid();
    metadata.creationTimestamp ??= timestamp(this.#state.clock.now());
    return this.#state.store.put(definition.storage, keyOf(definition, textAt(metadata, 'namespace'), name), stored);
  }

  /** Forgets the past: watches and lists that want it get 410. */
  compact(): void {
    this.#state.store.compact();
  }

  /** Breaks the connection of every watch, or ends them as a server does, or has them end with an error of 410. */
  endWatches(how: 'cut' | 'end' | 'expire'): void {
    this.#watches.end(how);
  }

  /** Sends a bookmark on every watch that asked for them. */
  sendBookmarks(): void {
    this.#watches.sendBookmarks();
  }

  /** Refuses connections, and breaks those that there are, until {@link acceptConnections}. */
  refuseConnections(): void {
    this.#life.abort(new ConnectionFault('ECONNRESET', 'the API server went away'));
    this.endWatches('cut');
    for (const listener of this.#reachability) listener(false);
  }

  acceptConnections(): void {
    if (this.reachable) return;
    this.#life = new AbortController();
    for (const listener of this.#reachability) listener(true);
  }

  /** Calls `listener` when connections begin to be refused or accepted; what is returned ends it. */
  onReachable(listener: (reachable: boolean) => void): () => void {
    this.#reachability.add(listener);
    return () => void this.#reachability.delete(listener);
  }

  /** The store is lost: nothing is there but the namespaces of the beginning, and resource versions begin again at `revision` (100). */
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
      if (fault?.kind === 'answerLost') throw new ConnectionFault('ECONNRESET', 'the answer was lost');
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

  /** What controllers do in a cluster, where nothing works without them. */
  #control({ type, storage, key, object }: Change): void {
    const { store, clock } = this.#state;
    const { signer } = this.#options;
    if (signer !== undefined && storage === 'certificatesigningrequests' && type !== 'DELETED') {
      void signApproved(store, object, signer, () => clock.now());
    }
    if (storage === 'namespaces' || type === 'DELETED') {
      const name = storage === 'namespaces' ? key : (key.split('/')[0] ?? '');
      // Not while the write that this is about is still under way.
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
