import { abortable, checkComponents, checkOptions, StartOnce } from '@node-agent/async';
import { type Metrics, withDefaults } from '@node-agent/telemetry';
import { AccessControl, type AccessControlComponents } from './access/access-control.ts';
import type { Call, Endpoints, UpgradeCall, UpgradeEndpoints } from './endpoints/call.ts';
import { checkNumberOptions } from './errors.ts';
import type { Answer, Exchange, UpgradeRequest } from './http/exchange.ts';
import { type BytesReply, type Reply, text } from './http/reply.ts';
import { parseRequestPath, type RequestPath } from './http/request-path.ts';
import { checkPort, type ListenAddress } from './listen/http-listener.ts';
import { InFlightLimit } from './listen/in-flight.ts';
import { SecuredListener, type SecuredListenerComponents, type ServerLimits } from './listen/secured-listener.ts';
import { type TlsSettings, tlsOptions } from './listen/tls-settings.ts';
import { RequestMetrics } from './request-metrics.ts';
import {
  isAlwaysOn,
  isDebuggingPath,
  isLongRunning,
  metricBucket,
  type SecuredEndpoint,
  securedRoute,
} from './secured-routes.ts';

/** The components of {@link SecuredServer}. */
export interface SecuredServerComponents extends SecuredListenerComponents, AccessControlComponents {
  readonly metrics?: Metrics;
  /**
   * The handlers by endpoint name: from `stateEndpoints`, `logEndpoints`, `streamEndpoints` and similar functions, or
   * custom functions.
   */
  readonly endpoints: Endpoints;
  /** The handlers that take over upgraded connections: from `streamEndpoints`. */
  readonly upgrades?: UpgradeEndpoints;
}

export interface SecuredServerOptions {
  /** The configuration's `address`. Default: all addresses. */
  readonly address?: string;
  /** `port`. Default: 10250. 0: any free port. */
  readonly port?: number;
  readonly tls?: TlsSettings;
  /** `enableDebuggingHandlers`: whether to serve more than health, pods and metrics. Default: true. */
  readonly debugging?: boolean;
  readonly limits?: ServerLimits & {
    /**
     * The maximum number of concurrent requests per client, including streams. Default: 2000, because the API server is
     * one client.
     */
    readonly maxInFlight?: number;
  };
  /** Called with the address on which the server listens. */
  readonly onListening?: (got: ListenAddress) => void;
}

/**
 * The kubelet's secured port (`ListenAndServeKubeletServer`, `pkg/kubelet/server/server.go`). Every request is
 * authenticated and authorized before an endpoint handles it (W1).
 */
export class SecuredServer {
  readonly #components: SecuredServerComponents;
  readonly #options: SecuredServerOptions;
  readonly #access: AccessControl;
  readonly #metrics: RequestMetrics;
  readonly #inFlight: InFlightLimit;
  readonly #listener: SecuredListener;
  readonly #startOnce = new StartOnce('SecuredServer');

  /** @throws ServerError `InvalidOptions` naming the invalid port, limit or TLS setting */
  constructor(given: SecuredServerComponents, options: SecuredServerOptions = {}) {
    checkOptions('SecuredServer', options, {
      address: 'string?',
      port: 'number?',
      tls: 'object?',
      debugging: 'boolean?',
      limits: 'object?',
      onListening: 'function?',
    });
    checkComponents('SecuredServer', given, {
      endpoints: [],
      certificate: ['onChange'],
      authentication: ['identify'],
      authorization: ['allows'],
    });
    checkPort(options.port);
    const components = withDefaults(given);
    this.#components = components;
    this.#options = options;
    this.#access = new AccessControl(components);
    this.#metrics = new RequestMetrics(components);
    const { maxInFlight = 2000, ...listenerLimits } = options.limits ?? {};
    checkNumberOptions({ maxInFlight }, { maxInFlight: 'limit' });
    this.#inFlight = new InFlightLimit(maxInFlight);
    this.#listener = new SecuredListener(components, tlsOptions(options.tls ?? {}), listenerLimits);
  }

  /**
   * Serves until `signal` is aborted and all requests have ended.
   * @throws ServerError `ListenFailed`; `InvalidOptions` if the initial certificate is unusable
   */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const { address = '0.0.0.0', port = 10250, onListening = () => {} } = this.#options;
    const handlers = {
      answer: (exchange: Exchange) => this.#counted(exchange, (path) => this.#answer(exchange, path)),
      upgrade: (request: UpgradeRequest) => this.#counted(request, (path) => this.#upgrade(request, path)),
    };
    await this.#listener.run({ address, port }, handlers, onListening, signal);
  }

  async #counted<T extends Answer | undefined>(
    { method, target, signal }: Exchange,
    handle: (path: RequestPath) => Promise<T>,
  ): Promise<T> {
    const path = parseRequestPath(target);
    const bucket = metricBucket(path.segments);
    const end = this.#metrics.begin(method, bucket, 'readwrite', isLongRunning(bucket));
    return await untilTaken(() => handle(path), signal, end);
  }

  async #answer(exchange: Exchange, path: RequestPath): Promise<Answer> {
    const entered = await this.#enter(exchange, path);
    if (!('call' in entered)) return entered;
    const { call, endpoint, leave } = entered;
    const make = async (): Promise<Answer> => (await this.#components.endpoints[endpoint]?.(call)) ?? notFound();
    return await untilTaken(make, call.signal, leave);
  }

  async #upgrade(request: UpgradeRequest, path: RequestPath): Promise<Reply | BytesReply | undefined> {
    const entered = await this.#enter(request, path);
    if (!('call' in entered)) return entered;
    const { call, endpoint, leave } = entered;
    const { connection, rest, rawHeaders } = request;
    const upgraded: UpgradeCall = { ...call, connection, rest, rawHeaders };
    try {
      const upgrade = this.#components.upgrades?.[endpoint];
      if (upgrade !== undefined) {
        call.takeTime();
        return await upgrade(upgraded);
      }
      // A handler that took over the connection does not notice that the client disconnects. Therefore the deadline
      // applies even to handlers that ignore the signal.
      const making = Promise.resolve(this.#components.endpoints[endpoint]?.(call));
      const answer = (await abortable(making, call.signal)) ?? notFound();
      return 'stream' in answer ? text(400, 'this is served without an upgrade of the connection\n') : answer;
    } finally {
      leave();
    }
  }

  /**
   * Runs all steps before an endpoint: authentication, authorization, routing, and the limit of concurrent requests.
   */
  async #enter(exchange: Exchange, { path, segments, query }: RequestPath): Promise<Reply | Entered> {
    const { method, signal } = exchange;
    const admission = await this.#access.admit(exchange, method, path, signal);
    if (admission.user === undefined) return admission.refusal;
    const { user } = admission;
    exchange.trust();
    // No name contains a NUL, so the answer is 404, as in upstream.
    if (segments === undefined) return path.includes('\0') ? notFound() : text(400, '400 Bad Request\n');
    const { debugging = true } = this.#options;
    if (!debugging && isDebuggingPath(segments)) return text(405, 'Debug endpoints are disabled.\n');
    const { endpoints, upgrades = {} } = this.#components;
    const isThere = (name: SecuredEndpoint): boolean =>
      (debugging || isAlwaysOn(name)) && (endpoints[name] !== undefined || upgrades[name] !== undefined);
    const found = securedRoute(method, segments, isThere);
    const { endpoint } = found;
    if (endpoint === undefined) {
      return found.status === 404
        ? notFound()
        : text(405, '405: Method Not Allowed', { Allow: [...new Set(found.allow)].join(', ') });
    }
    const client = user.name === 'system:anonymous' ? `${user.name} ${exchange.remoteAddress}` : user.name;
    const place = this.#inFlight.enter(client);
    if (place === undefined) return text(429, 'too many requests under way\n', { 'Retry-After': '1' });
    const call: Call = { ...exchange, user, params: found.params, query };
    return { call, endpoint, leave: () => place[Symbol.dispose]() };
  }
}

interface Entered {
  readonly call: Call;
  readonly endpoint: keyof Endpoints;
  readonly leave: () => void;
}

/**
 * Makes an answer. Calls `over` when the answer is complete; for a streamed answer, when the stream ends or the client
 * disconnects.
 */
async function untilTaken<T extends Answer | undefined>(
  make: () => Promise<T>,
  signal: AbortSignal,
  over: () => void,
): Promise<T> {
  let isUnderWay = false;
  try {
    const answer = await make();
    isUnderWay = answer !== undefined && 'stream' in answer && !signal.aborted;
    if (isUnderWay) signal.addEventListener('abort', over, { once: true });
    return answer;
  } finally {
    if (!isUnderWay) over();
  }
}

function notFound(): Reply {
  return text(404, '404 page not found\n');
}
