import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { FakeApiServer } from './fake-api-server.ts';
import { ConnectionFault } from './faults/connection-fault.ts';
import type { UserInfo } from './resources/definition.ts';
import type { HttpResponse } from './transport.ts';

/** How a {@link FakeApiServerHttp} is reached. */
export interface FakeApiServerHttpOptions {
  /** `127.0.0.1` by default. */
  readonly host?: string;
  /** 0, the default, takes a free one. */
  readonly port?: number;
  /** HTTPS; plain HTTP by default. PEM all of it. */
  readonly tls?: {
    readonly cert: string;
    readonly key: string;
    /** Asks for client certificates of this CA: their common name is the user, their organizations are its groups. */
    readonly clientCa?: string;
  };
}

/** What of a request's body is kept at most: more than any that is accepted. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;

/**
 * A {@link FakeApiServer} over HTTP/1.1, with or without TLS. While that one refuses connections, nobody listens here; a client
 * that goes away ends its watch.
 */
export class FakeApiServerHttp {
  readonly #api: Pick<FakeApiServer, 'request' | 'onReachable'>;
  readonly #options: FakeApiServerHttpOptions;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #port: number;
  #forget: () => void = () => {};
  #turn: Promise<void> = Promise.resolve();

  constructor(
    { api }: { readonly api: Pick<FakeApiServer, 'request' | 'onReachable'> },
    options: FakeApiServerHttpOptions = {},
  ) {
    this.#api = api;
    this.#options = options;
    this.#port = options.port ?? 0;
  }

  /** `http://127.0.0.1:40123`; the port is that which it got at its start. */
  get url(): string {
    const { host = '127.0.0.1', tls } = this.#options;
    return `${tls === undefined ? 'http' : 'https'}://${host}:${this.#port}`;
  }

  /** Begins to listen. @throws Error where another process listens there */
  async start(): Promise<void> {
    this.#forget = this.#api.onReachable((reachable) => {
      this.#turn = this.#turn.then(() => (reachable ? this.#listen() : this.#stop()));
    });
    await this.#listen();
  }

  /** Waits until what {@link FakeApiServer.refuseConnections} or its reverse began is done: the port is closed, or open. */
  async settled(): Promise<void> {
    await this.#turn;
  }

  /** Breaks what is under way and stops to listen; the store stays as it is. */
  async close(): Promise<void> {
    this.#forget();
    await this.#turn;
    await this.#stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #listen(): Promise<void> {
    if (this.#server !== undefined) return;
    const { host = '127.0.0.1', tls } = this.#options;
    const listener: RequestListener = (request, response) => void this.#serve(request, response);
    const server =
      tls === undefined
        ? createServer(listener)
        : createTlsServer(
            {
              cert: tls.cert,
              key: tls.key,
              ...(tls.clientCa === undefined ? {} : { ca: tls.clientCa, requestCert: true, rejectUnauthorized: false }),
            },
            listener,
          );
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#port, host, resolve);
    });
    const bound = server.address();
    if (typeof bound === 'object' && bound !== null) this.#port = bound.port;
    this.#server = server;
  }

  async #stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const gone = new AbortController();
    outgoing.on('close', () => gone.abort(new ConnectionFault('ECONNRESET', 'the client went away')));
    try {
      const body = await readBody(incoming);
      const request = {
        method: incoming.method ?? 'GET',
        path: incoming.url ?? '/',
        headers: headersOf(incoming),
        ...(body.length === 0 ? {} : { body }),
      };
      const response = await this.#api.request(request, gone.signal, certificateUser(incoming.socket));
      await send(response, outgoing, gone.signal);
    } catch (error) {
      // Whatever broke, the client sees a connection that breaks; what is no fault is a fault of this program.
      incoming.socket.destroy();
      if (!ConnectionFault.is(error) && !gone.signal.aborted) throw error;
    }
  }
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) found[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return found;
}

async function readBody(incoming: IncomingMessage): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of incoming) {
    bytes += chunk.length;
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function send(
  { status, headers, body }: HttpResponse,
  outgoing: ServerResponse,
  gone: AbortSignal,
): Promise<void> {
  const sent = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  outgoing.writeHead(status, Object.fromEntries(sent));
  outgoing.flushHeaders();
  for await (const chunk of body) {
    if (outgoing.write(chunk)) continue;
    await new Promise<void>((resolve, reject) => {
      const onGone = (): void => reject(gone.reason);
      if (gone.aborted) onGone();
      else gone.addEventListener('abort', onGone, { once: true });
      outgoing.once('drain', () => {
        gone.removeEventListener('abort', onGone);
        resolve();
      });
    });
  }
  outgoing.end();
}

/** Who a client certificate says it is; one that the CA did not sign says nothing. */
function certificateUser(socket: Socket): UserInfo | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  const { subject } = socket.getPeerCertificate();
  const name = subject?.CN;
  if (typeof name !== 'string') return undefined;
  const organizations = [subject.O ?? []].flat();
  return { name, groups: [...organizations, 'system:authenticated'] };
}
