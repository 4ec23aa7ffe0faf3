import { type Clock, checkComponents, checkOptions, TokenBucket } from '@node-agent/async';
import { nodeFileSystem } from '@node-agent/host';
import { type Logger, type Metrics, withDefaults } from '@node-agent/telemetry';
import type { ConnectionConfig } from './connection-config.ts';
import { ConfiguredCredentials, type CredentialSource } from './credentials.ts';
import type { ExecRunner } from './exec-credentials.ts';
import { nodeExec } from './node-exec.ts';
import { NodeTransport } from './node-transport.ts';
import { type Environment, proxyFor } from './proxy.ts';
import type { RateLimiter } from './rate-limiter.ts';
import type { CredentialFiles } from './reloading-file.ts';
import { RestClient } from './rest-client.ts';

/** What {@link KubeClients} work with. */
export interface KubeClientsComponents {
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** Silent where absent. */
  readonly logger?: Logger;
  /** Counted nowhere where absent. */
  readonly metrics?: Metrics;
  /** The process' environment: proxies, `DISABLE_HTTP2`, and what exec plugins get. */
  readonly environment: Environment;
  /** The machine's files where absent. */
  readonly fs?: CredentialFiles;
  /** Child processes where absent. */
  readonly exec?: ExecRunner;
  /** In place of the connection's own user: a certificate manager's, for example. */
  readonly credentials?: CredentialSource;
}

/** A rate limit as the kubelet's configuration has it. */
export interface RateLimit {
  /** Requests per second; 0 or less: no limit. */
  readonly qps: number;
  readonly burst: number;
}

export interface KubeClientsOptions {
  readonly connection: ConnectionConfig;
  /** `kubeAPIQPS` and `kubeAPIBurst`; 50 and 100 where absent. */
  readonly requests?: RateLimit;
  /** `eventRecordQPS` and `eventBurst`; 50 and 100 where absent. */
  readonly events?: RateLimit;
  /** `nodeStatusUpdateFrequency`, or what the lease lasts where that is less: a heartbeat that takes longer is of no use; 10,000 where absent. */
  readonly heartbeatTimeoutMs?: number;
  /** `node-agent` where absent. */
  readonly userAgent?: string;
}

/**
 * The three clients of a node, as upstream has them (`cmd/kubelet/app/server.go`): for requests and watches, for events, and
 * for the node's status and lease. Each has its own connections and limit, so that none waits for another (N6).
 */
export class KubeClients implements AsyncDisposable {
  readonly requests: RestClient;
  readonly events: RestClient;
  /** Without any rate limit. */
  readonly heartbeats: RestClient;
  readonly #transports: readonly NodeTransport[];

  /** No I/O is done. @throws KubeError `InvalidConfig` for a server or proxy that is no URL */
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
    const { connection, userAgent, heartbeatTimeoutMs = 10_000 } = options;
    const { cluster } = connection;
    const credentials =
      components.credentials ?? new ConfiguredCredentials({ fs, clock, logger, exec, environment }, connection);
    const transports: NodeTransport[] = [];
    const make = (limit: RateLimit | undefined, timeoutMs?: number): RestClient => {
      const transport = new NodeTransport(
        { clock, logger, credentials },
        {
          server: cluster.server,
          skipTlsVerify: cluster.skipTlsVerify === true,
          // As in upstream (`k8s.io/apimachinery/pkg/util/net/http.go: allowsHTTP2`), any value but the empty one disables it.
          http2: !environment.DISABLE_HTTP2,
          proxy: proxyFor(new URL(cluster.server), cluster.proxyUrl, environment),
          ...(cluster.tlsServerName === undefined ? {} : { tlsServerName: cluster.tlsServerName }),
        },
      );
      transports.push(transport);
      return new RestClient(
        { transport, clock, logger, metrics, rateLimiter: limiterOf(limit, clock) },
        {
          host: new URL(cluster.server).host,
          ...(userAgent === undefined ? {} : { userAgent }),
          ...(timeoutMs === undefined ? {} : { timeoutMs }),
        },
      );
    };
    this.requests = make(options.requests ?? { qps: 50, burst: 100 });
    this.events = make(options.events ?? { qps: 50, burst: 100 });
    this.heartbeats = make(undefined, heartbeatTimeoutMs);
    this.#transports = transports;
  }

  /** Ends all connections, so that all is dialled anew: what upstream does when heartbeats fail. Watches go on by themselves. */
  closeConnections(): void {
    for (const transport of this.#transports) transport.closeConnections();
  }

  /** Ends all connections. A request after it is refused, as `ConnectionFailed`. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const transport of this.#transports) await transport[Symbol.asyncDispose]();
  }
}

function limiterOf(limit: RateLimit | undefined, clock: Clock): RateLimiter | undefined {
  if (limit === undefined || limit.qps <= 0) return undefined;
  return new TokenBucket({ clock }, { qps: limit.qps, burst: Math.max(1, limit.burst) });
}
