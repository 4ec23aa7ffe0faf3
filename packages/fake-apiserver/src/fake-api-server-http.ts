import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { FakeApiServer } from './fake-api-server.ts';
import { ConnectionFault } from './faults/connection-fault.ts';
import type { UserInfo } from './resources/definition.ts';
import type { HttpResponse } from './transport.ts';

/** Options of a {@link FakeApiServerHttp}. */
export interface FakeApiServerHttpOptions {
  /** Address to listen on. Default: `127.0.0.1`. */
  readonly host?: string;
  /** Port to listen on. Default: 0, which selects a free port. */
  readonly port?: number;
  /** Certificate and key for HTTPS, in PEM. If absent, the server uses plain HTTP. */
  readonly tls?: {
    readonly cert: string;
    readonly key: string;
    /**
     * CA certificate in PEM. If set, the server requests client certificates of this CA: the common name is the user,
     * and the organizations are its groups.
     */
    readonly clientCa?: string;
  };
}

/** Maximum number of request body bytes that are buffered: more than the API server accepts. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;

/**
 * Serves a {@link FakeApiServer} over HTTP/1.1, with or without TLS. While the fake refuses connections, the port is
 * closed. A watch ends when its client disconnects.
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

  /** Base URL, for example `http://127.0.0.1:40123`. After `start`, the URL contains the actual port. */
  get url(): string {
    const { host = '127.0.0.1', tls } = this.#options;
    return `${tls === undefined ? 'http' : 'https'}://${host}:${this.#port}`;
  }

  /**
   * Starts listening.
   * @throws Error if another process listens at the address
   */
  async start(): Promise<void> {
    this.#forget = this.#api.onReachable((reachable) => {
      this.#turn = this.#turn.then(() => (reachable ? this.#listen() : this.#stop()));
    });
    await this.#listen();
  }

  /**
   * Waits until a change by {@link FakeApiServer.refuseConnections} or {@link FakeApiServer.acceptConnections} has
   * taken effect, that is, until the port is closed or open.
   */
  async settled(): Promise<void> {
    await this.#turn;
  }

  /** Breaks open connections and stops listening. The store is not changed. */
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
    outgoing.on('close', () => gone.abort(new ConnectionFault('ECONNRESET', 'client disconnected')));
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
      // On any error the client sees a broken connection. An error that is not an injected fault is a bug of this
      // package and is rethrown.
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

/**
 * Returns the user of a client certificate. Returns `undefined` if the certificate is not signed by the configured CA.
 */
function certificateUser(socket: Socket): UserInfo | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  const { subject } = socket.getPeerCertificate();
  const name = subject?.CN;
  if (typeof name !== 'string') return undefined;
  const organizations = [subject.O ?? []].flat();
  return { name, groups: [...organizations, 'system:authenticated'] };
}
