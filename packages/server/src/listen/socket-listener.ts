import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { type Clock, untilAborted } from '@node-agent/async';
import { errorText, type Logger } from '@node-agent/telemetry';
import { ServerError } from '../errors.ts';
import type { ExchangeHandlers } from '../http/exchange.ts';
import { http } from '../http/node-http.ts';
import { ConnectionLedger } from './connection-ledger.ts';
import { ExchangeService } from './exchange-service.ts';
import { prepareSocket, protectSocket } from './socket-file.ts';

/** How long a connection without a request is kept, in milliseconds. */
const IDLE_MS = 90_000;
/** How long a client may take to send a request, in milliseconds. */
const RECEIVE_MS = 10_000;
/** How long making an answer may take, and how long the client may take to receive it, in milliseconds. */
const ANSWER_MS = 60_000;
/** How long the client of a streamed answer may receive nothing, in milliseconds. */
const STALL_MS = 14_400_000;
/** How long streams have to end when the server stops, in milliseconds. */
const CLOSING_MS = 3000;
const MAX_CONNECTIONS = 256;
/** Headers contain the commands of exec. */
const MAX_HEADER_BYTES = 1024 * 1024;

/** The address in the logs of requests that come over a unix socket. */
const LOCAL = 'unix';

/**
 * Serves HTTP/1.1 with protocol upgrades on a unix socket of mode 0600 in a directory of mode 0700. The permissions of
 * the file are the only access control of the connection: Node.js does not read the peer's credentials.
 */
export class SocketListener {
  readonly #components: { readonly clock: Clock; readonly logger: Logger };
  readonly #ledger = new ConnectionLedger(Number.POSITIVE_INFINITY);
  readonly #keys = new WeakMap<Socket, string>();
  readonly #service: ExchangeService;
  #count = 0;

  constructor(components: { readonly clock: Clock; readonly logger: Logger }) {
    this.#components = components;
    this.#service = new ExchangeService(
      {
        ...components,
        ledger: this.#ledger,
        peerOf: ({ socket }) => ({ key: this.#keys.get(socket) ?? '', certificate: undefined, remoteAddress: LOCAL }),
      },
      { answerMs: ANSWER_MS, stallMs: STALL_MS, closingMs: CLOSING_MS },
    );
  }

  /**
   * Listens until `signal` is aborted, then removes the socket. Resolves when all connections are closed.
   * @param onListening called when the socket has its permissions
   * @throws ServerError `ListenFailed`
   */
  async run(path: string, handlers: ExchangeHandlers, onListening: () => void, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { clock, logger } = this.#components;
    await prepareSocket(path, process.getuid?.() ?? 0);
    const server = this.#server();
    this.#service.listen(server, handlers, signal);
    try {
      server.listen(path);
      await once(server, 'listening');
      await protectSocket(path);
    } catch (error) {
      server.close();
      throw new ServerError('ListenFailed', `cannot listen on ${path}: ${errorText(error)}`, error);
    }
    server.on('error', (err) => logger.warn({ err, path }, 'Admin socket had an error'));
    onListening();
    await untilAborted(signal);
    this.#service.abort(signal.reason);
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    this.#ledger.end();
    const late = clock.setTimer(CLOSING_MS, () => this.#ledger.destroy());
    await closed;
    late.cancel();
  }

  #server(): Server {
    const server = http.createServer({
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: RECEIVE_MS,
      requestTimeout: RECEIVE_MS,
      keepAliveTimeout: IDLE_MS,
      connectionsCheckingInterval: RECEIVE_MS / 4,
    });
    server.maxConnections = MAX_CONNECTIONS;
    server.on('connection', (socket: Socket) => {
      this.#count++;
      const key = String(this.#count);
      this.#keys.set(socket, key);
      this.#ledger.opened(key, { destroy: () => socket.destroy() });
      this.#ledger.trusted(key);
      socket.once('close', () => this.#ledger.closed(key));
    });
    return server;
  }
}
