import type { OutgoingHttpHeaders } from 'node:http';
import { type Clock, checkComponents, checkOptions, type Timer } from '@node-agent/async';
import { type Logger, withDefaults } from '@node-agent/telemetry';
import { plainAgent } from './agents.ts';
import { addressOf, type ConnectionPool } from './connection-pool.ts';
import type { CredentialSource, Credentials, TlsMaterial } from './credentials.ts';
import { KubeError } from './errors.ts';
import { Http1Pool } from './http1-pool.ts';
import { NegotiatedPool } from './negotiated-pool.ts';
import { type ServerTls, TlsDialer } from './tls-dialer.ts';
import type { HttpRequest, HttpResponse, HttpTransport } from './transport.ts';
import { proxyAuthorization } from './tunnel.ts';

/**
 * How often the credentials are checked while a stream is open, in milliseconds (the interval of
 * `pkg/kubelet/certificate/transport.go`).
 */
const CREDENTIAL_PERIOD_MS = 10_000;

export interface NodeTransportComponents {
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: no logging. */
  readonly logger?: Logger;
  readonly credentials: CredentialSource;
}

export interface NodeTransportOptions {
  /** The server's URL: `https://host:port`, with a path if the API is served below one. */
  readonly server: string;
  /** The name that the server's certificate must have. Default: the host of `server`. */
  readonly tlsServerName?: string;
  readonly skipTlsVerify?: boolean;
  readonly proxy?: URL | undefined;
  /** Whether HTTP/2 is offered to the server. Default: true. */
  readonly http2?: boolean;
}

/**
 * Sends requests over HTTP/2 if the server supports it, so that a hundred watches share one connection. Otherwise sends
 * them over HTTP/1.1 with kept connections. When the client certificate or the CA changes, new requests use new
 * connections. Open streams end with `ConnectionReplaced`; other requests in progress complete.
 */
export class NodeTransport implements HttpTransport, AsyncDisposable {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #credentials: CredentialSource;
  readonly #server: URL;
  /**
   * Whether the server's URL is https. Stored, because a `URL` parses its text again at each access to one of its
   * parts.
   */
  readonly #isTls: boolean;
  readonly #serverTls: ServerTls;
  readonly #proxy: URL | undefined;
  readonly #http2: boolean;
  #current: { readonly pool: ConnectionPool; readonly tls: TlsMaterial } | undefined;
  #timer: Timer | undefined;
  #isDisposed = false;

  /**
   * @throws KubeError `InvalidConfig` if `server` is not a URL; OptionsError that names the invalid component or option
   */
  constructor(components: NodeTransportComponents, options: NodeTransportOptions) {
    checkOptions('NodeTransport', options, {
      server: 'string',
      tlsServerName: 'string?',
      skipTlsVerify: 'boolean?',
      proxy: 'object?',
      http2: 'boolean?',
    });
    checkComponents('NodeTransport', components, { credentials: ['current', 'reject'] });
    const server = URL.parse(options.server);
    if (server === null || (server.protocol !== 'https:' && server.protocol !== 'http:')) {
      const message = `server ${JSON.stringify(options.server)}: must be an https or http URL`;
      throw new KubeError({ code: 'InvalidConfig', message });
    }
    const { clock, logger, credentials } = withDefaults(components);
    this.#clock = clock;
    this.#logger = logger;
    this.#credentials = credentials;
    this.#server = server;
    this.#isTls = server.protocol === 'https:';
    this.#serverTls = { servername: options.tlsServerName, rejectUnauthorized: options.skipTlsVerify !== true };
    this.#proxy = options.proxy;
    this.#http2 = options.http2 ?? true;
  }

  /** Sends a request. @throws KubeError `ConnectionFailed` after disposal; any error that prevents a response */
  async request(request: HttpRequest, signal?: AbortSignal): Promise<HttpResponse> {
    this.#expectInUse();
    const credentials = await this.#credentials.current(signal);
    this.#expectInUse();
    const pool = this.#use(credentials);
    if (request.stream && this.#timer === undefined) this.#arm();
    const response = await pool.send(request, this.#headers(request, credentials), signal);
    if (response.status === 401) this.#credentials.reject(credentials);
    return response;
  }

  /** Closes all connections, so that later requests open new ones. Streams fail with `ConnectionReplaced`. */
  closeConnections(): void {
    this.#current?.pool.destroy('the connections were closed');
    this.#current = undefined;
  }

  /** Closes all connections. Later requests fail. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.closeConnections();
  }

  #expectInUse(): void {
    if (!this.#isDisposed) return;
    throw new KubeError({ code: 'ConnectionFailed', message: 'the client is disposed' });
  }

  #use({ tls }: Credentials): ConnectionPool {
    const current = this.#current;
    if (current !== undefined && (!this.#isTls || current.tls === tls)) return current.pool;
    const pool = this.#isTls ? this.#tlsPool(tls) : this.#plainPool();
    this.#current = { pool, tls };
    if (current !== undefined) {
      this.#logger.info({ server: this.#server.host }, 'Credentials changed; opening new connections');
      current.pool.retire('the client certificate or the CA has changed');
    }
    return pool;
  }

  #tlsPool(tls: TlsMaterial): ConnectionPool {
    const dialer = new TlsDialer(this.#clock, addressOf(this.#server), tls, this.#serverTls, this.#proxy);
    return new NegotiatedPool(this.#clock, dialer, this.#http2 ? ['h2', 'http/1.1'] : ['http/1.1']);
  }

  /**
   * Returns the pool for an `http://` server. An HTTP proxy forwards requests and gets their whole URLs; a SOCKS proxy
   * tunnels connections to the server.
   */
  #plainPool(): ConnectionPool {
    const proxy = this.#proxy;
    const target = { secure: false, ...addressOf(this.#server) };
    if (proxy === undefined || proxy.protocol.startsWith('socks5')) {
      return new Http1Pool(plainAgent(this.#clock, proxy), target);
    }
    const { host, port } = addressOf(proxy);
    const pathPrefix = `${this.#server.origin}${target.pathPrefix}`;
    return new Http1Pool(plainAgent(this.#clock, undefined), { ...target, host, port, pathPrefix });
  }

  #headers(request: HttpRequest, credentials: Credentials): OutgoingHttpHeaders {
    const headers: OutgoingHttpHeaders = { ...request.headers };
    for (const name in credentials.headers) {
      const value = credentials.headers[name];
      headers[name] = typeof value === 'object' ? [...value] : value;
    }
    if (request.body !== undefined) headers['content-length'] = Buffer.byteLength(request.body);
    if (!this.#isTls && this.#proxy?.protocol.startsWith('http')) {
      const authorization = proxyAuthorization(this.#proxy);
      if (authorization !== undefined) headers['proxy-authorization'] = authorization;
    }
    return headers;
  }

  /**
   * Checks the credentials periodically while a stream is open: a stream may last for hours without any other request.
   */
  #arm(): void {
    this.#timer = this.#clock.setTimer(CREDENTIAL_PERIOD_MS, () => {
      this.#timer = undefined;
      if (this.#current === undefined || this.#current.pool.streams === 0) return;
      this.#arm();
      this.#credentials.current().then(
        (credentials) => {
          if (this.#current !== undefined) this.#use(credentials);
        },
        (err: unknown) => this.#logger.warn({ err }, 'Failed to check the credentials'),
      );
    });
  }
}
