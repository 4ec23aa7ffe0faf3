import { type Clock, checkComponents, checkOptions, TokenBucket } from '@node-agent/async';
import { nodeFileSystem } from '@node-agent/host';
import { type Logger, type Metrics, type Tracer, withDefaults } from '@node-agent/telemetry';
import type { ConnectionConfig } from './connection-config.ts';
import { ConfiguredCredentials, type CredentialSource } from './credentials.ts';
import type { ExecRunner } from './exec-credentials.ts';
import { type ImpersonatedUser, impersonatingTransport } from './impersonating-transport.ts';
import { nodeExec } from './node-exec.ts';
import { NodeTransport } from './node-transport.ts';
import { type Environment, proxyFor } from './proxy.ts';
import type { RateLimiter } from './rate-limiter.ts';
import type { CredentialFiles } from './reloading-file.ts';
import { RestClient } from './rest-client.ts';
import { tracedTransport } from './traced-transport.ts';
import type { HttpTransport } from './transport.ts';

/** The components of {@link KubeClients}. */
export interface KubeClientsComponents {
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** Default: no metrics. */
  readonly metrics?: Metrics;
  /** Creates a span for each request, and sends the span's context with the request. Default: no tracing. */
  readonly tracer?: Tracer;
  /** The environment of the process: proxies, `DISABLE_HTTP2`, and the environment of exec plugins. */
  readonly environment: Environment;
  /** Default: the machine's file system. */
  readonly fs?: CredentialFiles;
  /** Default: starts child processes. */
  readonly exec?: ExecRunner;
  /** Replaces the user of the connection, for example with the credentials of a certificate manager. */
  readonly credentials?: CredentialSource;
}

/** A rate limit for the requests of one client, with the meaning of `kubeAPIQPS` and `kubeAPIBurst`. */
export interface RateLimit {
  /** Requests per second. 0 or less: no limit. */
  readonly qps: number;
  readonly burst: number;
}

export interface KubeClientsOptions {
  readonly connection: ConnectionConfig;
  /** The rate limit of requests (`kubeAPIQPS` and `kubeAPIBurst`). Default: 50 and 100. */
  readonly requests?: RateLimit;
  /** The rate limit of events (`eventRecordQPS` and `eventBurst`). Default: 50 and 100. */
  readonly events?: RateLimit;
  /**
   * The timeout of a heartbeat, in milliseconds: `nodeStatusUpdateFrequency` or the lease duration, whichever is
   * shorter. A slower heartbeat would be useless. Default: 10,000.
   */
  readonly heartbeatTimeoutMs?: number;
  /** The value of the header `User-Agent`. Default: `node-agent`. */
  readonly userAgent?: string;
}

/** The three clients of one user of {@link KubeClients}. */
export type UserClients = Readonly<Record<'requests' | 'events' | 'heartbeats', Pick<RestClient, keyof RestClient>>>;

/**
 * The three clients of a node, as in upstream (`cmd/kubelet/app/server.go`): one for requests and watches, one for
 * events, one for node status and lease. Each client has its own connections and rate limit, so that no client delays
 * another (N6).
 */
export class KubeClients implements AsyncDisposable {
  readonly requests: RestClient;
  readonly events: RestClient;
  /** The client of node status and lease updates, without a rate limit. */
  readonly heartbeats: RestClient;
  readonly #transports: Readonly<Record<keyof UserClients, NodeTransport>>;
  readonly #client: (transport: HttpTransport, limiter: RateLimiter | undefined, timeoutMs?: number) => RestClient;
  readonly #clock: Clock;
  readonly #heartbeatTimeoutMs: number;
  #requestLimiter: RateLimiter | undefined;

  /** Creates the clients without any I/O. @throws KubeError `InvalidConfig` if the server or the proxy is not a URL */
  constructor(components: KubeClientsComponents, options: KubeClientsOptions) {
    checkOptions('KubeClients', options, {
      connection: 'object',
      requests: 'object?',
      events: 'object?',
      heartbeatTimeoutMs: 'positive?',
      userAgent: 'string?',
    });
    checkComponents('KubeClients', components, { environment: [] });
    const { clock, logger, metrics, environment, fs = nodeFileSystem, exec = nodeExec } = withDefaults(components);
    const { tracer } = components;
    const { connection, userAgent, heartbeatTimeoutMs = 10_000 } = options;
    const { cluster } = connection;
    const credentials =
      components.credentials ?? new ConfiguredCredentials({ fs, clock, logger, exec, environment }, connection);
    const transport = (): NodeTransport =>
      new NodeTransport(
        { clock, logger, credentials },
        {
          server: cluster.server,
          skipTlsVerify: cluster.skipTlsVerify === true,
          // In upstream (`k8s.io/apimachinery/pkg/util/net/http.go: allowsHTTP2`), any non-empty value disables HTTP/2.
          http2: !environment.DISABLE_HTTP2,
          proxy: proxyFor(new URL(cluster.server), cluster.proxyUrl, environment),
          ...(cluster.tlsServerName === undefined ? {} : { tlsServerName: cluster.tlsServerName }),
        },
      );
    const transports = { requests: transport(), events: transport(), heartbeats: transport() };
    this.#client = (over, rateLimiter, timeoutMs) =>
      new RestClient(
        {
          transport: tracer === undefined ? over : tracedTransport(over, tracer, cluster.server),
          ...{ clock, logger, metrics, rateLimiter },
        },
        {
          host: new URL(cluster.server).host,
          ...(userAgent === undefined ? {} : { userAgent }),
          ...(timeoutMs === undefined ? {} : { timeoutMs }),
        },
      );
    this.#clock = clock;
    this.#heartbeatTimeoutMs = heartbeatTimeoutMs;
    this.#requestLimiter = limiterOf(options.requests ?? DEFAULT_RATE, clock);
    this.requests = this.#client(transports.requests, {
      acquire: (signal) => this.#requestLimiter?.acquire(signal) ?? Promise.resolve(),
    });
    this.events = this.#client(transports.events, limiterOf(options.events ?? DEFAULT_RATE, clock));
    this.heartbeats = this.#client(transports.heartbeats, undefined, heartbeatTimeoutMs);
    this.#transports = transports;
  }

  /**
   * Returns clients that send their requests as another user over the same connections, with rate limits of their own.
   * So thousands of users share the few connections of this object. See {@link ImpersonatedUser} for the permission
   * that the user of the connection needs.
   */
  as(user: ImpersonatedUser, options: Pick<KubeClientsOptions, 'requests' | 'events'> = {}): UserClients {
    const { requests, events, heartbeats } = this.#transports;
    const over = (transport: HttpTransport): HttpTransport => impersonatingTransport(transport, user);
    return {
      requests: this.#client(over(requests), limiterOf(options.requests ?? DEFAULT_RATE, this.#clock)),
      events: this.#client(over(events), limiterOf(options.events ?? DEFAULT_RATE, this.#clock)),
      heartbeats: this.#client(over(heartbeats), undefined, this.#heartbeatTimeoutMs),
    };
  }

  /**
   * Changes the rate limit of {@link requests}. Requests that already wait for the old limit are sent when the old
   * limit allows.
   */
  setRequestRate(limit: RateLimit): void {
    this.#requestLimiter = limiterOf(limit, this.#clock);
  }

  /**
   * Closes all connections, so that later requests open new ones. The Go kubelet does the same when heartbeats fail.
   * Watches reconnect.
   */
  closeConnections(): void {
    for (const transport of Object.values(this.#transports)) transport.closeConnections();
  }

  /** Closes all connections. Later requests fail with `ConnectionFailed`. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const transport of Object.values(this.#transports)) await transport[Symbol.asyncDispose]();
  }
}

/** Upstream's default of `kubeAPIQPS` and `eventRecordQPS`, and of `kubeAPIBurst` and `eventBurst`. */
const DEFAULT_RATE: RateLimit = { qps: 50, burst: 100 };

function limiterOf(limit: RateLimit | undefined, clock: Clock): RateLimiter | undefined {
  if (limit === undefined || limit.qps <= 0) return undefined;
  return new TokenBucket({ clock }, { qps: limit.qps, burst: Math.max(1, limit.burst) });
}
