import { abortable } from '@node-agent/async';
import { noTracer, spanContextOf, type Tracer, type WithDefaults } from '@node-agent/telemetry';
import { AccessControl, type AccessControlComponents } from './access/access-control.ts';
import type { Call, Endpoints, UpgradeCall, UpgradeEndpoints } from './endpoints/call.ts';
import { checkNumberOptions } from './errors.ts';
import type { Answer, Exchange, ExchangeHandlers, UpgradeRequest } from './http/exchange.ts';
import { type BytesReply, type Reply, text } from './http/reply.ts';
import { parseRequestPath, type RequestPath } from './http/request-path.ts';
import { InFlightLimit } from './listen/in-flight.ts';
import { RequestMetrics } from './request-metrics.ts';
import {
  isAlwaysOn,
  isDebuggingPath,
  isLongRunning,
  metricBucket,
  type SecuredEndpoint,
  securedRoute,
} from './secured-routes.ts';

/** The components of {@link RequestRouter}. */
export interface RequestRouterComponents extends AccessControlComponents {
  readonly metrics: ConstructorParameters<typeof RequestMetrics>[0]['metrics'];
  /**
   * Creates a span for each authorized request, as a child of the span that the request's headers name. Default: no
   * tracing.
   */
  readonly tracer?: Tracer | undefined;
  /** The handlers by endpoint name. */
  readonly endpoints: Endpoints;
  /** The handlers that take over upgraded connections. */
  readonly upgrades?: UpgradeEndpoints | undefined;
}

/** The options of {@link RequestRouter}. */
export interface RequestRouterOptions {
  /** The label `server_type` of the request metrics. */
  readonly serverType: string;
  /** Whether endpoints other than health, pods and metrics are served. */
  readonly debugging: boolean;
  /** The maximum number of concurrent requests per client, including streams. Default: 2000. */
  readonly maxInFlight?: number | undefined;
}

/**
 * Passes the requests of one listener to the endpoints of a kubelet. Each request is counted, authenticated and
 * authorized before an endpoint handles it (W1). Several listeners may share the endpoints.
 */
export class RequestRouter implements ExchangeHandlers {
  readonly #components: WithDefaults<RequestRouterComponents>;
  readonly #options: RequestRouterOptions;
  readonly #access: AccessControl;
  readonly #metrics: RequestMetrics;
  readonly #inFlight: InFlightLimit;

  /** @throws ServerError `InvalidOptions` if `maxInFlight` is invalid */
  constructor(components: WithDefaults<RequestRouterComponents>, options: RequestRouterOptions) {
    const { maxInFlight = 2000 } = options;
    checkNumberOptions({ maxInFlight }, { maxInFlight: 'limit' });
    this.#components = components;
    this.#options = options;
    this.#access = new AccessControl(components);
    this.#metrics = new RequestMetrics(components);
    this.#inFlight = new InFlightLimit(maxInFlight);
  }

  async answer(exchange: Exchange): Promise<Answer> {
    return await this.#counted(exchange, (path) => this.#answer(exchange, path));
  }

  async upgrade(request: UpgradeRequest): Promise<Reply | BytesReply | undefined> {
    return await this.#counted(request, (path) => this.#upgrade(request, path));
  }

  async #counted<T extends Answer | undefined>(
    { method, target, signal }: Exchange,
    handle: (path: RequestPath) => Promise<T>,
  ): Promise<T> {
    const path = parseRequestPath(target);
    const bucket = metricBucket(path.segments);
    const end = this.#metrics.begin(method, bucket, this.#options.serverType, isLongRunning(bucket));
    return await untilTaken(() => handle(path), signal, end);
  }

  async #answer(exchange: Exchange, path: RequestPath): Promise<Answer> {
    const entered = await this.#enter(exchange, path);
    if (!('call' in entered)) return entered;
    const { call, endpoint, leave } = entered;
    const make = async (): Promise<Answer> => (await this.#components.endpoints[endpoint]?.(call)) ?? notFound();
    return await this.#traced(entered, path, () => untilTaken(make, call.signal, leave));
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
        return await this.#traced(entered, path, () => upgrade(upgraded));
      }
      // If a handler took over the connection, it may not notice that the client disconnects. `abortable` therefore
      // ends the wait even for handlers that ignore the signal.
      const making = Promise.resolve(this.#components.endpoints[endpoint]?.(call));
      const answer = (await abortable(making, call.signal)) ?? notFound();
      return 'stream' in answer ? text(400, 'this is served without an upgrade of the connection\n') : answer;
    } finally {
      leave();
    }
  }

  /**
   * Handles a request in a span, with the name and attributes of upstream's filter (`InstallTracingFilter` in
   * `pkg/kubelet/server/server.go`). Only authorized requests get spans, so that other clients cannot fill the collector.
   */
  async #traced<T extends Answer | undefined>(
    { call, route }: Entered,
    { path }: RequestPath,
    handle: () => Promise<T>,
  ): Promise<T> {
    const { tracer = noTracer } = this.#components;
    const { method, headers } = call;
    const start = {
      ...{ name: route, kind: 'server' as const, parent: tracer === noTracer ? undefined : spanContextOf(headers) },
      attributes: () => ({
        'http.request.method': method,
        'http.route': route,
        'url.path': path,
        'server.address': 'kubelet',
      }),
    };
    return await tracer.span(start, async (span) => {
      const answer = await handle();
      if (answer === undefined) return answer;
      span.set({ 'http.response.status_code': answer.status });
      if (answer.status >= 500) span.fail('');
      return answer;
    });
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
    // No name contains a NUL, so the response to such a path is 404, as in upstream.
    if (segments === undefined) return path.includes('\0') ? notFound() : text(400, '400 Bad Request\n');
    const { debugging } = this.#options;
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
    const call: Call = { ...exchange, user, path, params: found.params, query };
    return { call, endpoint, route: found.route, leave: () => place[Symbol.dispose]() };
  }
}

interface Entered {
  readonly call: Call;
  readonly endpoint: keyof Endpoints;
  readonly route: string;
  readonly leave: () => void;
}

/**
 * Makes an answer. Calls `over` when the answer is complete. If the answer is streamed, `over` is called when the
 * stream ends or the client disconnects.
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
