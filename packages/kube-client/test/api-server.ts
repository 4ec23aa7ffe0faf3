import { createServer as createHttp, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import { createServer as createHttps } from 'node:https';
import { type AddressInfo, connect, createServer as createTcp, type Server, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { KeyPair, Pki } from './pki.ts';

/** A request that the server received. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly user: string | undefined;
  readonly authorization: string | undefined;
  /** The header `Impersonate-User`. */
  readonly impersonated: string | string[] | undefined;
  /** The header `Impersonate-Group`. */
  readonly impersonatedGroup: string | string[] | undefined;
  readonly body: string;
  readonly httpVersion: string;
}

/** The TLS certificate of a server, and whether the server speaks HTTP/2. */
export interface ServerTls {
  readonly pki: Pki;
  readonly pair: KeyPair;
  readonly http2?: boolean;
  readonly maxConcurrentStreams?: number;
  /** Whether an HTTP/2 server also speaks HTTP/1.1. */
  readonly allowHTTP1?: boolean;
}

type Handler = (request: Seen, response: ServerResponse) => void;

/** A small HTTP(S) server with responses from the test. */
export class ApiServer implements AsyncDisposable {
  readonly seen: Seen[] = [];
  connections = 0;
  handler: Handler = (_, response) => void response.end('{"kind":"Node","metadata":{"name":"a"}}');
  readonly #server;
  readonly #scheme: string;
  readonly #sockets = new Set<Socket>();

  private constructor(tls: ServerTls | undefined) {
    // The HTTP/2 compatibility API has the same requests and responses, as far as needed here.
    const listener: RequestListener = (request, response) => void this.#handle(request, response);
    this.#scheme = tls === undefined ? 'http' : 'https';
    const options =
      tls === undefined ? {} : { ...tls.pair, ca: tls.pki.ca, requestCert: true, rejectUnauthorized: false };
    if (tls === undefined) this.#server = createHttp(listener);
    else if (tls.http2)
      this.#server = createSecureServer(
        { ...options, allowHTTP1: tls.allowHTTP1 ?? false, ...settingsOf(tls) },
        listener as never,
      );
    else this.#server = createHttps(options, listener);
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    this.#server.on(tls === undefined ? 'connection' : 'secureConnection', () => this.connections++);
  }

  /** Destroys all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** The number of open connections. */
  get open(): number {
    return this.#sockets.size;
  }

  static async start(tls?: ServerTls): Promise<ApiServer> {
    const server = new ApiServer(tls);
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${this.port}`;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += chunk;
    const certificate = this.#scheme === 'https' ? (request.socket as TLSSocket).getPeerCertificate() : undefined;
    const seen: Seen = {
      method: request.method ?? '',
      url: request.url ?? '',
      user: certificate?.subject?.CN === undefined ? undefined : String(certificate.subject.CN),
      authorization: request.headers.authorization,
      impersonated: request.headers['impersonate-user'],
      impersonatedGroup: request.headers['impersonate-group'],
      body,
      httpVersion: request.httpVersion,
    };
    this.seen.push(seen);
    this.handler(seen, response);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Polls with real I/O until a condition holds. */
export async function until(holds: () => boolean): Promise<void> {
  for (let i = 0; i < 100_000 && !holds(); i++) await new Promise<void>((resolve) => setImmediate(resolve));
  if (!holds()) throw new Error('it does not come true');
}

function settingsOf({ maxConcurrentStreams }: ServerTls): {
  readonly settings?: { readonly maxConcurrentStreams: number };
} {
  return maxConcurrentStreams === undefined ? {} : { settings: { maxConcurrentStreams } };
}

/**
 * A TCP proxy in front of a server. Its existing connections can be frozen: the peers stay connected, and no data
 * arrives.
 */
export class Relay implements AsyncDisposable {
  readonly #server: Server;
  readonly #scheme: string;
  readonly #sockets = new Set<Socket>();

  private constructor(target: ApiServer) {
    this.#scheme = new URL(target.url).protocol;
    this.#server = createTcp((near) => {
      const far = connect(target.port, '127.0.0.1');
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(from);
        from.on('data', (bytes) => void to.write(bytes));
        from.on('error', () => {});
        from.on('close', () => to.destroy());
      }
    });
  }

  static async to(target: ApiServer): Promise<Relay> {
    const relay = new Relay(target);
    await new Promise<void>((resolve) => relay.#server.listen(0, '127.0.0.1', resolve));
    return relay;
  }

  get url(): string {
    return `${this.#scheme}//127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  freeze(): void {
    for (const socket of this.#sockets) socket.removeAllListeners('data');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
