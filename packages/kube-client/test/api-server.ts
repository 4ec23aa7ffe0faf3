import { createServer as createHttp, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { KeyPair, Pki } from './pki.ts';

/** What a request came with. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly user: string | undefined;
  readonly authorization: string | undefined;
  readonly body: string;
}

type Handler = (request: Seen, response: ServerResponse) => void;

/** A small HTTP(S) server that answers as a test says. */
export class ApiServer implements AsyncDisposable {
  readonly seen: Seen[] = [];
  connections = 0;
  handler: Handler = (_, response) => void response.end('{"kind":"Node","metadata":{"name":"a"}}');
  readonly #server;
  readonly #scheme: string;

  private constructor(tls: { readonly pki: Pki; readonly pair: KeyPair } | undefined) {
    const listener: RequestListener = (request, response) => void this.#handle(request, response);
    this.#scheme = tls === undefined ? 'http' : 'https';
    this.#server =
      tls === undefined
        ? createHttp(listener)
        : createHttps({ ...tls.pair, ca: tls.pki.ca, requestCert: true, rejectUnauthorized: false }, listener);
    this.#server.on(tls === undefined ? 'connection' : 'secureConnection', () => this.connections++);
  }

  static async start(tls?: { readonly pki: Pki; readonly pair: KeyPair }): Promise<ApiServer> {
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
    const certificate =
      'getPeerCertificate' in request.socket ? (request.socket as TLSSocket).getPeerCertificate() : undefined;
    const seen: Seen = {
      method: request.method ?? '',
      url: request.url ?? '',
      user: certificate?.subject?.CN === undefined ? undefined : String(certificate.subject.CN),
      authorization: request.headers.authorization,
      body,
    };
    this.seen.push(seen);
    this.handler(seen, response);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Waits, while real I/O goes on, until something holds. */
export async function until(holds: () => boolean): Promise<void> {
  for (let i = 0; i < 100_000 && !holds(); i++) await new Promise<void>((resolve) => setImmediate(resolve));
  if (!holds()) throw new Error('it does not come true');
}
