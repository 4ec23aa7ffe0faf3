import http from 'node:http';
import https from 'node:https';
import type { Clock, Timer } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';
import { destroyAgent, plainAgent, retireAgent, type ServerTls, tlsAgent } from './agents.ts';
import type { CredentialSource, Credentials, TlsMaterial } from './credentials.ts';
import { KubeError } from './errors.ts';
import type { HttpRequest, HttpResponse, HttpTransport } from './transport.ts';
import { proxyAuthorization } from './tunnel.ts';

/** How often the credentials are looked at while a stream is open, in milliseconds (`pkg/kubelet/certificate/transport.go`). */
const CREDENTIAL_PERIOD_MS = 10_000;

/** After so much silence the kernel probes a connection, and finds a peer that vanished 10 s later. */
const KEEP_ALIVE_MS = 30_000;

/** Methods that may be sent again where a kept connection turned out to be closed by the server. */
const REPEATABLE = new Set(['GET', 'PUT', 'DELETE']);

export interface NodeTransportComponents {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly credentials: CredentialSource;
}

export interface NodeTransportOptions {
  /** `https://host:port`, with a path where the API is below one. */
  readonly server: string;
  /** The name in the server's certificate, where it is not the host's. */
  readonly tlsServerName?: string;
  readonly skipTlsVerify?: boolean;
  readonly proxy?: URL | undefined;
}

/** A connection pool and the streams that go over it. */
interface Generation {
  readonly agent: http.Agent;
  readonly tls: TlsMaterial | undefined;
  /** Each ends a stream. */
  readonly streams: Set<(error: Error) => void>;
}

/**
 * HTTP/1.1 over Node's own client, with connections that are kept. When the client certificate or the CA changes, new
 * requests go over new connections at once; streams are ended with `ConnectionReplaced`, other requests may finish.
 */
export class NodeTransport implements HttpTransport, AsyncDisposable {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #credentials: CredentialSource;
  readonly #server: URL;
  readonly #serverTls: ServerTls;
  readonly #proxy: URL | undefined;
  #generation: Generation | undefined;
  #timer: Timer | undefined;

  /** @throws KubeError `InvalidConfig` for a server that is no URL */
  constructor(components: NodeTransportComponents, options: NodeTransportOptions) {
    const server = URL.parse(options.server);
    if (server === null || (server.protocol !== 'https:' && server.protocol !== 'http:')) {
      throw new KubeError({
        code: 'InvalidConfig',
        message: `server ${JSON.stringify(options.server)}: no https or http URL`,
      });
    }
    this.#clock = components.clock;
    this.#logger = components.logger;
    this.#credentials = components.credentials;
    this.#server = server;
    this.#serverTls = { servername: options.tlsServerName, rejectUnauthorized: options.skipTlsVerify !== true };
    this.#proxy = options.proxy;
  }

  async request(request: HttpRequest, signal?: AbortSignal): Promise<HttpResponse> {
    const credentials = await this.#credentials.current(signal);
    const generation = this.#use(credentials);
    const response = await this.#sendOver(generation, request, credentials, signal);
    if (response.status === 401) this.#credentials.reject(credentials);
    return response;
  }

  /** Ends all connections, so that what comes next is dialled anew: streams fail with `ConnectionReplaced`. */
  closeConnections(): void {
    const generation = this.#generation;
    this.#generation = undefined;
    if (generation === undefined) return;
    endStreams(generation, 'the connections were closed');
    destroyAgent(generation.agent);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.closeConnections();
  }

  #use({ tls }: Credentials): Generation {
    const current = this.#generation;
    const isTls = this.#server.protocol === 'https:';
    if (current !== undefined && (!isTls || current.tls === tls)) return current;
    const socks = this.#proxy?.protocol.startsWith('socks5') ? this.#proxy : undefined;
    const agent = isTls ? tlsAgent(tls, this.#serverTls, this.#proxy) : plainAgent(socks);
    const next: Generation = { agent, tls, streams: new Set() };
    this.#generation = next;
    if (current !== undefined) {
      this.#logger.info({ server: this.#server.host }, 'The credentials have changed; connections are made anew');
      endStreams(current, 'the client certificate or the CA has changed');
      retireAgent(current.agent);
    }
    return next;
  }

  async #sendOver(
    generation: Generation,
    request: HttpRequest,
    credentials: Credentials,
    signal: AbortSignal | undefined,
  ): Promise<HttpResponse> {
    for (let first = true; ; first = false) {
      const sent = this.#send(generation, request, credentials, signal);
      try {
        return await sent.response;
      } catch (error) {
        const closed = error instanceof Error && 'code' in error && error.code === 'ECONNRESET';
        if (!first || !closed || !sent.onKeptConnection() || !REPEATABLE.has(request.method)) throw error;
      }
    }
  }

  #send(
    generation: Generation,
    request: HttpRequest,
    credentials: Credentials,
    signal: AbortSignal | undefined,
  ): { readonly response: Promise<HttpResponse>; readonly onKeptConnection: () => boolean } {
    const { method, body } = request;
    const outgoing = (this.#server.protocol === 'https:' ? https : http).request({
      method,
      agent: generation.agent,
      ...this.#target(request.path),
      headers: this.#headers(request, credentials),
    });
    let incoming: http.IncomingMessage | undefined;
    const end = (error: Error): void => void (incoming ?? outgoing).destroy(error);
    const onAbort = (): void => end(toError(signal?.reason));
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
    if (request.stream) this.#track(generation, end);
    outgoing.on('close', () => {
      signal?.removeEventListener('abort', onAbort);
      generation.streams.delete(end);
    });
    // A watch's connection is seldom idle in the pool, where Node would see to this.
    outgoing.on('socket', (socket) => void socket.setKeepAlive(true, KEEP_ALIVE_MS));
    const response = new Promise<HttpResponse>((resolve, reject) => {
      outgoing.on('error', (error) => reject(signal?.aborted ? signal.reason : error));
      outgoing.on('response', (message) => {
        incoming = message;
        resolve({ status: message.statusCode ?? 0, headers: flatten(message.headers), body: bodyOf(message, signal) });
      });
    });
    outgoing.end(body);
    return { response, onKeptConnection: () => outgoing.reusedSocket };
  }

  /** An HTTP proxy takes requests for `http://` servers with the whole URL; everything else is a connection to the server. */
  #target(path: string): { readonly host: string; readonly port: number; readonly path: string } {
    const { protocol, hostname, port, pathname } = this.#server;
    const full = `${pathname.replace(/\/$/, '')}${path}`;
    const forwards = protocol === 'http:' && this.#proxy !== undefined && !this.#proxy.protocol.startsWith('socks5');
    const peer = forwards && this.#proxy !== undefined ? this.#proxy : this.#server;
    return {
      host: peer.hostname.replace(/^\[|\]$/g, '') || hostname,
      port: Number(peer.port || port || (peer.protocol === 'https:' ? 443 : 80)),
      path: forwards ? `${this.#server.origin}${full}` : full,
    };
  }

  #headers(request: HttpRequest, credentials: Credentials): http.OutgoingHttpHeaders {
    const headers: http.OutgoingHttpHeaders = { ...request.headers, host: this.#server.host };
    for (const [name, value] of Object.entries(credentials.headers)) {
      headers[name] = typeof value === 'string' ? value : [...value];
    }
    if (request.body !== undefined) headers['content-length'] = Buffer.byteLength(request.body);
    if (this.#server.protocol === 'http:' && this.#proxy?.protocol.startsWith('http')) {
      const authorization = proxyAuthorization(this.#proxy);
      if (authorization !== undefined) headers['proxy-authorization'] = authorization;
    }
    return headers;
  }

  #track(generation: Generation, end: (error: Error) => void): void {
    generation.streams.add(end);
    if (this.#timer === undefined) this.#arm();
  }

  /** A stream may last for hours: while there is one, the credentials are looked at though nobody sends anything. */
  #arm(): void {
    this.#timer = this.#clock.setTimer(CREDENTIAL_PERIOD_MS, () => {
      this.#timer = undefined;
      if (this.#generation === undefined || this.#generation.streams.size === 0) return;
      this.#arm();
      this.#credentials.current().then(
        (credentials) => {
          if (this.#generation !== undefined) this.#use(credentials);
        },
        (err: unknown) => this.#logger.warn({ err }, 'The credentials could not be looked at'),
      );
    });
  }
}

function endStreams({ streams }: Generation, why: string): void {
  for (const end of [...streams]) end(new KubeError({ code: 'ConnectionReplaced', message: why }));
  streams.clear();
}

async function* bodyOf(
  incoming: http.IncomingMessage,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for await (const chunk of incoming) yield chunk as Uint8Array;
  } catch (error) {
    throw signal?.aborted ? signal.reason : error;
  }
}

function flatten(headers: http.IncomingHttpHeaders): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
