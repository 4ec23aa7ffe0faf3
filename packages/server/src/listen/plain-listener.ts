import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { type Clock, untilAborted } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';
import type { ExchangeHandlers } from '../http/exchange.ts';
import { http } from '../http/node-http.ts';
import { closeServer } from './close-server.ts';
import { ConnectionLedger } from './connection-ledger.ts';
import { ExchangeService } from './exchange-service.ts';

/** How long a connection without a request is kept, in milliseconds. */
const IDLE_MS = 90_000;
/** How long a client may take to send a request, in milliseconds. */
const RECEIVE_MS = 10_000;
/** How long making an answer may take, and how long the client may take to receive it, in milliseconds. */
const ANSWER_MS = 60_000;
/** How long streams have to end when the server stops, in milliseconds. */
const CLOSING_MS = 3000;
const MAX_CONNECTIONS = 256;

/** The options of {@link PlainListener}. */
interface PlainListenerOptions {
  readonly maxHeaderBytes: number;
  /**
   * The maximum number of connections that have not yet sent an authorized request. Beyond the limit, the oldest of
   * these connections is closed.
   */
  readonly maxStrangers: number;
  /** How long the client of a streamed answer may receive nothing, in milliseconds. */
  readonly stallMs: number;
  /** The name that stands for the address of every client in logs. */
  readonly remoteAddress: string;
  /** Returns the part of a path that may be logged. Default: the path as received. */
  readonly shownPath?: (path: string) => string;
}

/** Serves HTTP/1.1 without TLS to clients on this machine. Slow and idle connections are closed. */
export class PlainListener {
  readonly #components: { readonly clock: Clock; readonly logger: Logger };
  readonly #options: PlainListenerOptions;
  readonly #ledger: ConnectionLedger;
  readonly #keys = new WeakMap<Socket, string>();
  readonly #service: ExchangeService;
  #count = 0;

  constructor(components: { readonly clock: Clock; readonly logger: Logger }, options: PlainListenerOptions) {
    const { maxStrangers, stallMs, remoteAddress, shownPath } = options;
    this.#components = components;
    this.#options = options;
    this.#ledger = new ConnectionLedger(maxStrangers);
    this.#service = new ExchangeService(
      {
        ...components,
        ledger: this.#ledger,
        shownPath,
        peerOf: ({ socket }) => ({ key: this.#keys.get(socket) ?? '', certificate: undefined, remoteAddress }),
      },
      { answerMs: ANSWER_MS, stallMs, closingMs: CLOSING_MS },
    );
  }

  /**
   * Serves until `signal` is aborted. Resolves when all connections are closed.
   * @param listen binds the server; its error is thrown
   */
  async run(handlers: ExchangeHandlers, listen: (server: Server) => Promise<void>, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#components;
    const server = this.#server();
    this.#service.listen(server, handlers, signal);
    try {
      await listen(server);
    } catch (error) {
      server.close();
      throw error;
    }
    server.on('error', (err) => logger.warn({ err }, 'Server for local clients had an error'));
    await untilAborted(signal);
    this.#service.abort(signal.reason);
    await closeServer(server, this.#ledger, clock, CLOSING_MS);
  }

  #server(): Server {
    const { maxHeaderBytes, maxStrangers } = this.#options;
    const server = http.createServer({
      maxHeaderSize: maxHeaderBytes,
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
      if (maxStrangers === Number.POSITIVE_INFINITY) this.#ledger.trusted(key);
      socket.once('close', () => this.#ledger.closed(key));
    });
    return server;
  }
}
