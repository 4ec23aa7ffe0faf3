import { checkComponents, checkOptions, StartOnce } from '@node-agent/async';
import { type Metrics, type Tracer, withDefaults } from '@node-agent/telemetry';
import type { AccessControlComponents } from './access/access-control.ts';
import type { Endpoints, UpgradeEndpoints } from './endpoints/call.ts';
import { checkPort, type ListenAddress } from './listen/http-listener.ts';
import { SecuredListener, type SecuredListenerComponents, type ServerLimits } from './listen/secured-listener.ts';
import { type TlsSettings, tlsOptions } from './listen/tls-settings.ts';
import { RequestRouter } from './request-router.ts';

/** The components of {@link SecuredServer}. */
export interface SecuredServerComponents extends SecuredListenerComponents, AccessControlComponents {
  readonly metrics?: Metrics;
  /**
   * Creates a span for each authorized request, as a child of the span that the request's headers name. Default: no
   * tracing.
   */
  readonly tracer?: Tracer | undefined;
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
  /** The configuration's `port`. Default: 10250. 0 selects any free port. */
  readonly port?: number;
  readonly tls?: TlsSettings;
  /**
   * The configuration's `enableDebuggingHandlers`: whether endpoints other than health, pods and metrics are served.
   * Default: true.
   */
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
  readonly #options: SecuredServerOptions;
  readonly #router: RequestRouter;
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
    this.#options = options;
    const { maxInFlight, ...listenerLimits } = options.limits ?? {};
    const { debugging = true } = options;
    this.#router = new RequestRouter(components, { serverType: 'readwrite', debugging, maxInFlight });
    this.#listener = new SecuredListener(components, tlsOptions(options.tls ?? {}), listenerLimits);
  }

  /**
   * Serves until `signal` is aborted and all requests have ended.
   * @throws ServerError `ListenFailed`; `InvalidOptions` if the initial certificate is unusable
   */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const { address = '0.0.0.0', port = 10250, onListening = () => {} } = this.#options;
    await this.#listener.run({ address, port }, this.#router, onListening, signal);
  }
}
