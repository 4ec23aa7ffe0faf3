import { constants as cryptoConstants } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import { createSecureContext, type SecureContextOptions, type TLSSocket } from 'node:tls';
import { type Clock, checkOptions, type LinkedAbort, linkAbort, untilAborted } from '@node-agent/async';
import { errorText, type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import type { ClientAuthorities } from '../access/client-ca-file.ts';
import { ServerError } from '../errors.ts';
import type { Exchange, ExchangeHandlers } from '../http/exchange.ts';
import { readBody } from '../http/read-body.ts';
import { splitTarget } from '../http/request-path.ts';
import { requestProblem } from '../http/request-problem.ts';
import { keyOf, remoteAddressOf, socketOf } from '../http/request-socket.ts';
import { isGone } from '../http/response-state.ts';
import { AnswerDeadline, rawReply, sendAnswer } from '../http/send-answer.ts';
import { expectSendable } from '../http/sendable.ts';
import { bind } from './bind.ts';
import { ConnectionLedger } from './connection-ledger.ts';
import type { ListenAddress } from './http-listener.ts';
import { ShownCertificates } from './shown-certificates.ts';
import { trackConnections } from './track-connections.ts';

/** A serving certificate that may be replaced. The managers of `@node-agent/certificates` implement it. */
export interface ServingCertificate {
  /** PEM. `undefined` while there is no certificate; handshakes fail then. */
  readonly current: { readonly cert: string; readonly key: string } | undefined;
  /** @returns a function that removes the listener */
  onChange(listener: () => void): () => void;
}

/** The components of `SecuredListener`. */
export interface SecuredListenerComponents {
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly certificate: ServingCertificate;
  /** The authorities of client certificates. If absent, clients are not asked for a certificate. */
  readonly authorities?: ClientAuthorities;
}

/** Limits on clients. The defaults suit a node. */
export interface ServerLimits {
  /** The maximum number of connections. Default: 4096. Further connections are refused. */
  readonly maxConnections?: number;
  /**
   * The maximum number of connections that have not yet sent an authorized request. Default: 512. Beyond it, the oldest
   * is closed.
   */
  readonly maxStrangers?: number;
  /**
   * The maximum size of a request's headers, which contain the commands of exec. Default: 1 MiB, as in Go. Over HTTP/2,
   * which carries no commands: 64 KiB.
   */
  readonly maxHeaderBytes?: number;
  /** How long a client may take for the handshake and for sending a request, in milliseconds. Default: 10 s. */
  readonly receiveMs?: number;
  /**
   * How long making an answer may take, and how long the client may take to receive it, in milliseconds. Default: 60 s.
   * Does not apply to streams.
   */
  readonly answerMs?: number;
  /** How long the client of a streamed answer may receive nothing, in milliseconds. Default: 4 hours. */
  readonly stallMs?: number;
}

/** How long a connection without a request is kept, in milliseconds, as in upstream. */
const IDLE_MS = 90_000;
/** How long streams have to end when the server stops, in milliseconds. */
const CLOSING_MS = 3000;
/**
 * How long a connection may be silent before the kernel probes it, in milliseconds. A client that vanished is detected
 * 10 s later, 150 s in all, as with Go's server. Without a probe, a server with nothing to send, as on a followed log,
 * would never notice.
 */
const KEEP_ALIVE_MS = 140_000;
/** The limit per stream. All streams of a connection may use it at the same time. */
const MAX_HTTP2_HEADER_BYTES = 64 * 1024;
/** The limit of the request heads of all strangers together, in bytes. */
const MAX_STRANGERS_HEAD_BYTES = 32 * 1024 * 1024;
/** As in Go's server. */
const MAX_CONCURRENT_STREAMS = 250;
/** Equals the stream limit, so that a client may cancel all its streams without being treated as an attacker. */
const STREAM_RESET_BURST = MAX_CONCURRENT_STREAMS;
/** How many more streams a client may reset per second. */
const STREAM_RESET_RATE = 50;

/**
 * Serves HTTP/2 and HTTP/1.1 over TLS, chosen by ALPN; protocol upgrades use HTTP/1.1. The serving certificate and the
 * client authorities may change at any time; open connections stay open. TLS sessions are not resumed, so that each new
 * connection is verified against the current authorities.
 */
export class SecuredListener {
  readonly #components: WithDefaults<SecuredListenerComponents>;
  readonly #tls: SecureContextOptions;
  readonly #limits: Required<ServerLimits>;
  readonly #ledger: ConnectionLedger;
  readonly #shown: ShownCertificates;
  /** The requests in progress. One listener on the server's signal aborts all of them. */
  readonly #underWay = new Set<LinkedAbort>();

  /** @throws OptionsError naming the invalid limit */
  constructor(components: SecuredListenerComponents, tls: SecureContextOptions, limits: ServerLimits = {}) {
    this.#components = withDefaults(components);
    this.#tls = tls;
    this.#limits = {
      maxConnections: 4096,
      maxStrangers: 512,
      maxHeaderBytes: 1024 * 1024,
      receiveMs: 10_000,
      answerMs: 60_000,
      stallMs: 14_400_000,
      ...limits,
    };
    checkOptions('SecuredServer limits', this.#limits, {
      maxConnections: 'limit',
      maxStrangers: 'limit',
      maxHeaderBytes: 'limit',
      receiveMs: 'positive',
      answerMs: 'positive',
      stallMs: 'positive',
    });
    this.#ledger = new ConnectionLedger(
      this.#limits.maxStrangers,
      Math.max(MAX_STRANGERS_HEAD_BYTES, this.#limits.maxHeaderBytes),
    );
    this.#shown = new ShownCertificates(this.#components.clock, this.#components.authorities);
  }

  /**
   * Listens until `signal` is aborted. Resolves when all connections are closed.
   * @throws ServerError `ListenFailed`, `InvalidOptions`
   */
  async run(
    listen: ListenAddress,
    handlers: ExchangeHandlers,
    onListening: (got: ListenAddress) => void,
    signal: AbortSignal,
  ): Promise<void> {
    if (signal.aborted) return;
    const { clock, certificate, authorities } = this.#components;
    const server = this.#server();
    trackConnections(server, this.#ledger, this.#components, { idleMs: IDLE_MS, lingerMs: CLOSING_MS });
    server.on('request', (request, response) => {
      // Lets a stream reset that arrived with its request be processed first, so that the request is not authenticated
      // needlessly.
      if ('stream' in response) setImmediate(() => void this.#serve(request, response, handlers, signal));
      else void this.#serve(request, response, handlers, signal);
    });
    // Without this listener, Node.js would request the body before the client is authorized.
    server.on('checkContinue', (request, response) => {
      void this.#serve(request, response, handlers, signal, () => response.writeContinue());
    });
    server.on('upgrade', (request: IncomingMessage, socket: TLSSocket, rest: Buffer) => {
      void this.#upgrade(request, socket, rest, handlers, signal);
    });
    const unlink = [certificate.onChange(() => this.#renew(server)), authorities?.onChange(() => this.#renew(server))];
    try {
      await bind(server, listen);
      // Later errors, such as a failed accept, concern single connections and not the server.
      server.on('error', (err) =>
        this.#components.logger.warn({ err, port: listen.port }, 'HTTPS server had an error'),
      );
      const got = server.address();
      if (got !== null && typeof got === 'object') onListening({ address: got.address, port: got.port });
      await untilAborted(signal);
      for (const link of [...this.#underWay]) link.abort(signal.reason);
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      this.#ledger.end();
      const late = clock.setTimer(CLOSING_MS, () => this.#ledger.destroy());
      await closed;
      late.cancel();
    } finally {
      for (const end of unlink) end?.();
    }
  }

  #server(): Http2SecureServer {
    const { maxConnections, maxHeaderBytes, receiveMs } = this.#limits;
    expectUsable(this.#components.certificate, this.#tls);
    const http1 = {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: receiveMs,
      requestTimeout: receiveMs,
      keepAliveTimeout: IDLE_MS,
      connectionsCheckingInterval: receiveMs / 4,
    };
    const server = createSecureServer({
      ...this.#secureContext(),
      ...http1,
      allowHTTP1: true,
      // HTTP/1.1 upgrades need half-open connections: one end of a stream may finish before the other.
      allowHalfOpen: true,
      // Streams send small chunks. With Nagle's algorithm, each would wait for the acknowledgement of the one before.
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_MS,
      handshakeTimeout: receiveMs,
      requestCert: this.#components.authorities !== undefined,
      rejectUnauthorized: false,
      streamResetBurst: STREAM_RESET_BURST,
      streamResetRate: STREAM_RESET_RATE,
      settings: {
        maxConcurrentStreams: MAX_CONCURRENT_STREAMS,
        maxHeaderListSize: Math.min(maxHeaderBytes, MAX_HTTP2_HEADER_BYTES),
        enablePush: false,
      },
    });
    server.maxConnections = maxConnections;
    return server;
  }

  #secureContext(): SecureContextOptions {
    const { certificate, authorities } = this.#components;
    return {
      ...this.#tls,
      ...certificate.current,
      ...(authorities && { ca: authorities.pem }),
      // Disables renegotiation: a TLS 1.2 client could force endless handshakes on one connection.
      secureOptions: cryptoConstants.SSL_OP_NO_TICKET | cryptoConstants.SSL_OP_NO_RENEGOTIATION,
    };
  }

  #renew(server: Http2SecureServer): void {
    try {
      server.setSecureContext(this.#secureContext());
    } catch (err) {
      this.#components.logger.error(
        { err },
        'Failed to load the new serving certificate; the previous one stays in use',
      );
    }
  }

  async #serve(
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
    handlers: ExchangeHandlers,
    ending: AbortSignal,
    askForBody: () => void = () => {},
  ): Promise<void> {
    if (isGone(response)) return;
    using under = this.#begin(ending);
    const { link } = under;
    const socket = socketOf(request);
    if (socket === undefined) {
      response.destroy();
      return;
    }
    using _busy = this.#ledger.begin(keyOf(socket), 'stream' in request ? headBytes(request.rawHeaders) : 0);
    // Connection errors are handled by the event `close`.
    response.on('error', () => {});
    response.once('close', () => link.abort(new ServerError('Ended', 'the client disconnected')));
    const { clock, logger } = this.#components;
    const { answerMs, stallMs } = this.#limits;
    const deadline = new AnswerDeadline(clock, answerMs, link);
    const body = async (limitBytes: number): Promise<Buffer | undefined> => {
      askForBody();
      return await readBody(request, limitBytes);
    };
    const exchange = this.#exchange(request, socket, link.signal, { takeTime: () => deadline.lift(), body });
    const problem = 'stream' in request ? undefined : requestProblem(request);
    const making = problem === undefined ? handlers.answer(exchange) : Promise.resolve(problem);
    const answer = await deadline.hold(making, (err) => {
      logger.error({ err, method: request.method, path: pathOf(request.url) }, 'HTTP request failed');
    });
    if (isGone(response)) return;
    // Closes the connection, because only the handshake of a new connection is verified against the current
    // authorities.
    const closing = answer.status === 401 && exchange.certificate !== undefined;
    try {
      await sendAnswer(answer, request, response, { clock, answerMs, stallMs, closing });
    } catch (err) {
      // Handles answers that one HTTP version accepts and the other rejects.
      logger.error({ err, method: request.method, path: pathOf(request.url) }, 'Failed to send HTTP answer');
      response.destroy();
    }
  }

  async #upgrade(
    request: IncomingMessage,
    socket: TLSSocket,
    rest: Buffer,
    handlers: ExchangeHandlers,
    ending: AbortSignal,
  ): Promise<void> {
    using under = this.#begin(ending);
    const { link } = under;
    const onClose = (): void => link.abort(new ServerError('Ended', 'the client disconnected'));
    socket.on('error', () => {});
    socket.once('close', onClose);
    const { clock, logger } = this.#components;
    const key = keyOf(socket);
    // The response of an earlier, pipelined request would be written into the upgraded stream.
    if (this.#ledger.isBusy(key)) {
      socket.destroy();
      return;
    }
    using _busy = this.#ledger.begin(key);
    const deadline = new AnswerDeadline(clock, this.#limits.answerMs, link);
    const body = (limitBytes: number) => readBody(request, limitBytes);
    const exchange = this.#exchange(request, socket, link.signal, { takeTime: () => deadline.lift(), body });
    const problem = requestProblem(request);
    const upgraded = { ...exchange, rawHeaders: request.rawHeaders, connection: socket, rest };
    const reply = await (problem === undefined ? handlers.upgrade(upgraded) : Promise.resolve(problem))
      .then((given) => given && expectSendable(given))
      .catch((err: unknown) => {
        if (!link.signal.aborted)
          logger.error({ err, method: request.method, path: pathOf(request.url) }, 'HTTP upgrade failed');
        return deadline.failure();
      })
      .finally(() => deadline.lift());
    if (reply === undefined || socket.destroyed) return;
    try {
      socket.end(rawReply(reply));
    } catch (err) {
      logger.error({ err, method: request.method, path: pathOf(request.url) }, 'Failed to send HTTP answer');
      socket.destroy();
      return;
    }
    const late = clock.setTimer(CLOSING_MS, () => socket.destroy());
    socket.once('close', () => late.cancel());
    socket.resume();
  }

  /** Counts a request as in progress until the returned value is disposed. */
  #begin(ending: AbortSignal): Disposable & { readonly link: LinkedAbort } {
    const link = linkAbort();
    if (ending.aborted) link.abort(ending.reason);
    this.#underWay.add(link);
    return { link, [Symbol.dispose]: () => void this.#underWay.delete(link) };
  }

  #exchange(
    request: IncomingMessage | Http2ServerRequest,
    socket: TLSSocket,
    signal: AbortSignal,
    own: Pick<Exchange, 'takeTime' | 'body'>,
  ): Exchange {
    const key = keyOf(socket);
    return {
      method: request.method ?? 'GET',
      target: request.url ?? '/',
      headers: request.headers,
      certificate: this.#shown.of(socket),
      remoteAddress: remoteAddressOf(socket),
      signal,
      trust: () => this.#ledger.trusted(key),
      ...own,
    };
  }
}

/**
 * Checks the serving certificate. @throws ServerError `InvalidOptions`, because OpenSSL's own message does not name the
 * certificate
 */
function expectUsable({ current }: ServingCertificate, settings: SecureContextOptions): void {
  try {
    createSecureContext({ ...settings, ...current });
  } catch (err) {
    throw new ServerError(
      'InvalidOptions',
      `the serving certificate does not work with its key: ${errorText(err)}`,
      err,
    );
  }
}

function headBytes(rawHeaders: readonly string[]): number {
  return rawHeaders.reduce((sum, { length }) => sum + length, 0);
}

/** Removes the query: it may contain a command with secrets (W4). */
function pathOf(target = ''): string {
  return splitTarget(target).path;
}
