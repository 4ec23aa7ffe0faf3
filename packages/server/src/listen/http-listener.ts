import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '@node-agent/async';
import { errorText, type Logger } from '@node-agent/telemetry';
import { checkNumberOptions } from '../errors.ts';
import { http } from '../http/node-http.ts';
import { type BytesReply, internalError, type Reply, text } from '../http/reply.ts';
import { requestProblem } from '../http/request-problem.ts';
import { expectSendable } from '../http/sendable.ts';
import { bind } from './bind.ts';

/** The address on which a server listens. */
export interface ListenAddress {
  /** An IP address of this machine. `127.0.0.1`: only local clients; `0.0.0.0`: all IPv4 and IPv6 addresses. */
  readonly address: string;
  /** The TCP port. 0 selects any free port. */
  readonly port: number;
}

/**
 * Checks a port number. @param port the port; if absent, the default port is used, which is valid @throws ServerError
 * `InvalidOptions` if the port is invalid
 */
export function checkPort(port: number = 0): void {
  checkNumberOptions({ port }, { port: 'port' });
}

/** Answers one request. `signal` is aborted when the client disconnects or the answer is late. */
export type Handler = (
  method: string,
  url: string,
  signal: AbortSignal,
) => Reply | BytesReply | Promise<Reply | BytesReply>;

/** How long an idle connection is kept, in milliseconds, as in upstream. */
const IDLE_MS = 90_000;
/** How long a client may take to send its request, in milliseconds. */
const RECEIVE_MS = 30_000;
/** How long making an answer may take, in milliseconds. */
const ANSWER_MS = 60_000;
const MAX_CONNECTIONS = 256;
const MAX_HEADER_BYTES = 16 * 1024;

/**
 * An HTTP/1.1 server whose requests are answered by one function. Request bodies are not read: a connection on which a
 * client sends a body is closed after the answer. Slow and idle connections and those beyond the limit are closed. A
 * handler that throws or returns an invalid answer leads to a 500, a late one to a 504.
 */
export class HttpListener {
  readonly #components: { readonly clock: Clock; readonly logger: Logger };
  readonly #handler: Handler;

  constructor(components: { readonly clock: Clock; readonly logger: Logger }, handler: Handler) {
    this.#components = components;
    this.#handler = handler;
  }

  /**
   * Listens until `signal` is aborted. Resolves when all connections are closed.
   * @param onListening called with the bound address before the first request
   * @throws ServerError `ListenFailed`
   */
  async run(listen: ListenAddress, onListening: (got: ListenAddress) => void, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const server = http.createServer(
      {
        maxHeaderSize: MAX_HEADER_BYTES,
        headersTimeout: RECEIVE_MS,
        requestTimeout: RECEIVE_MS,
        keepAliveTimeout: IDLE_MS,
      },
      (request, response) => void this.#serve(request, response),
    );
    boundConnections(server);
    await bind(server, listen);
    // A later error, such as a failed accept, concerns a single connection and not the whole server.
    server.on('error', (err) => this.#components.logger.warn({ err, port: listen.port }, 'HTTP server had an error'));
    const got = server.address();
    if (got !== null && typeof got === 'object') onListening({ address: got.address, port: got.port });
    await new Promise<void>((resolve) => {
      const stop = (): void => {
        server.close(() => resolve());
        server.closeAllConnections();
      };
      if (signal.aborted) stop();
      else signal.addEventListener('abort', stop, { once: true });
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { clock, logger } = this.#components;
    const { method = 'GET', url = '/' } = request;
    const controller = new AbortController();
    response.on('close', () => controller.abort(new Error('the client disconnected')));
    let reply: Reply | BytesReply;
    const timer = clock.setTimer(ANSWER_MS, () => controller.abort(new Error(`no answer within ${ANSWER_MS} ms`)));
    try {
      reply = expectSendable(
        requestProblem(request) ??
          (await Promise.race([this.#handler(method, url, controller.signal), aborted(controller.signal)])),
      );
    } catch (err) {
      const late = controller.signal.aborted;
      if (!late) logger.error({ err, method, url }, 'HTTP request failed');
      // The error's text is only logged, because any client can reach this port.
      reply = late ? text(504, `${errorText(controller.signal.reason)}\n`) : internalError();
    } finally {
      timer.cancel();
    }
    if (response.destroyed) return;
    const hasBody = request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length']) > 0;
    const closing = hasBody ? { Connection: 'close' } : {};
    const body = 'bytes' in reply ? reply.bytes : reply.body;
    const length = { 'Content-Length': Buffer.byteLength(body) };
    try {
      response.writeHead(reply.status, { ...reply.headers, ...length, ...closing });
      response.end(method === 'HEAD' ? undefined : body);
    } catch (err) {
      logger.error({ err, method, url }, 'Failed to send HTTP answer');
      response.destroy();
    }
  }
}

/**
 * Limits the number of connections. Beyond the limit, the oldest connection is closed, so that a flood closes its own
 * connections and keeps no client out.
 */
function boundConnections(server: Server): void {
  /** Open connections in the order of their arrival. */
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    const [oldest] = open;
    if (open.size <= MAX_CONNECTIONS || oldest === undefined) return;
    open.delete(oldest);
    oldest.destroy();
  });
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
