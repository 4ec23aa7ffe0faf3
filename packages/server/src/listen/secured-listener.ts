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

/** A certificate that a server shows, and the one that follows it: `certificates` has such. */
export interface ServingCertificate {
  /** PEM; `undefined` while there is none: handshakes fail then. */
  readonly current: { readonly cert: string; readonly key: string } | undefined;
  /** @returns ends that */
  onChange(listener: () => void): () => void;
}

/** What `SecuredListener` works with. */
export interface SecuredListenerComponents {
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly certificate: ServingCertificate;
  /** Whose client certificates are believed; without, clients are not asked for one. */
  readonly authorities?: ClientAuthorities;
}

/** How much clients may ask of a server; the defaults are meant for a node. */
export interface ServerLimits {
  /** Of connections; 4096 by default. Whoever comes then is not let in. */
  readonly maxConnections?: number;
  /** Of connections of which nobody has shown yet that they may use the server; 512 by default. The oldest goes then. */
  readonly maxStrangers?: number;
  /** Of a request's head: commands to execute are in it. 1 MiB by default, as in Go. HTTP/2, which carries no commands: 64 KiB. */
  readonly maxHeaderBytes?: number;
  /** How long a client may take for a handshake, and for a request, in milliseconds; 10 s by default. */
  readonly receiveMs?: number;
  /** How long an answer may take to be made, and to be taken by the client, in milliseconds; 60 s by default. Not for streams. */
  readonly answerMs?: number;
  /** How long the client of a streamed answer may take nothing of what waits for it, in milliseconds; 4 hours by default. */
  readonly stallMs?: number;
}

/** How long a connection without a request is kept, as upstream. */
const IDLE_MS = 90_000;
/** How long streams have to end by themselves when the server does. */
const CLOSING_MS = 3000;
/**
 * After so much silence the system asks whether a client is there, and lets one that has vanished go 10 s later: after 150 s in all, as
 * by Go's server. Nothing else tells of it where there is nothing to be said to it, as of a log that is followed.
 */
const KEEP_ALIVE_MS = 140_000;
/** Every stream of a connection may send as much at the same time. */
const MAX_HTTP2_HEADER_BYTES = 64 * 1024;
/** Of the request heads of all strangers together, in bytes. */
const MAX_STRANGERS_HEAD_BYTES = 32 * 1024 * 1024;
/** As Go's server allows. */
const MAX_CONCURRENT_STREAMS = 250;
/** As many as a client may have open: one that cancels all of them is no attacker. */
const STREAM_RESET_BURST = MAX_CONCURRENT_STREAMS;
/** How many more streams a client may reset each second. */
const STREAM_RESET_RATE = 50;

/**
 * HTTP/2 and HTTP/1.1 over TLS, chosen by ALPN; protocol upgrades come by HTTP/1.1. The serving certificate and the
 * authorities of clients may change at any time; connections that are open stay. Sessions are not resumed: whoever connects
 * shows a certificate to the authorities that are believed now.
 */
export class SecuredListener {
  readonly #components: WithDefaults<SecuredListenerComponents>;
  readonly #tls: SecureContextOptions;
  readonly #limits: Required<ServerLimits>;
  readonly #ledger: ConnectionLedger;
  readonly #shown: ShownCertificates;
  /** What is under way: one listener of the server's end tells all of it. */
  readonly #underWay = new Set<LinkedAbort>();

  /** @throws OptionsError naming the limit that is wrong */
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
   * Listens until `signal` is aborted, and is done when all connections are closed.
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
      // A reset that came with its request is read first: the request is not worth an authentication then.
      if ('stream' in response) setImmediate(() => void this.#serve(request, response, handlers, signal));
      else void this.#serve(request, response, handlers, signal);
    });
    // Left alone, HTTP would ask for the body at once, whoever is there.
    server.on('checkContinue', (request, response) => {
      void this.#serve(request, response, handlers, signal, () => response.writeContinue());
    });
    server.on('upgrade', (request: IncomingMessage, socket: TLSSocket, rest: Buffer) => {
      void this.#upgrade(request, socket, rest, handlers, signal);
    });
    const unlink = [certificate.onChange(() => this.#renew(server)), authorities?.onChange(() => this.#renew(server))];
    try {
      await bind(server, listen);
      // What comes later, as a failing accept, concerns one connection and not the server.
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
      // For HTTP/1.1 upgrades: one end of a stream may be done before the other.
      allowHalfOpen: true,
      // Streams say little at a time: each word would wait for the client to acknowledge the one before.
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
      // A TLS 1.2 client could make the server pay for handshakes without end on one connection.
      secureOptions: cryptoConstants.SSL_OP_NO_TICKET | cryptoConstants.SSL_OP_NO_RENEGOTIATION,
    };
  }

  #renew(server: Http2SecureServer): void {
    try {
      server.setSecureContext(this.#secureContext());
    } catch (err) {
      this.#components.logger.error({ err }, 'The new certificate cannot be served; the last one is');
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
    // What happens to a connection is heard of by its end.
    response.on('error', () => {});
    response.once('close', () => link.abort(new ServerError('Ended', 'the client has gone')));
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
    // The handshake of a new connection is held against the authorities that are believed by then.
    const closing = answer.status === 401 && exchange.certificate !== undefined;
    try {
      await sendAnswer(answer, request, response, { clock, answerMs, stallMs, closing });
    } catch (err) {
      // What one version of HTTP refuses, and the other does not.
      logger.error({ err, method: request.method, path: pathOf(request.url) }, 'HTTP answer cannot be sent');
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
    const onClose = (): void => link.abort(new ServerError('Ended', 'the client has gone'));
    socket.on('error', () => {});
    socket.once('close', onClose);
    const { clock, logger } = this.#components;
    const key = keyOf(socket);
    // What answers an earlier request would write into what follows this one.
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
      logger.error({ err, method: request.method, path: pathOf(request.url) }, 'HTTP answer cannot be sent');
      socket.destroy();
      return;
    }
    const late = clock.setTimer(CLOSING_MS, () => socket.destroy());
    socket.once('close', () => late.cancel());
    socket.resume();
  }

  /** Something is under way until what is given is disposed of. */
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

/** @throws ServerError `InvalidOptions`: what TLS says of a certificate does not say that it is one */
function expectUsable({ current }: ServingCertificate, settings: SecureContextOptions): void {
  try {
    createSecureContext({ ...settings, ...current });
  } catch (err) {
    throw new ServerError(
      'InvalidOptions',
      `the serving certificate cannot be used with its key: ${errorText(err)}`,
      err,
    );
  }
}

function headBytes(rawHeaders: readonly string[]): number {
  return rawHeaders.reduce((sum, { length }) => sum + length, 0);
}

/** Queries hold commands, which may hold secrets (W4). */
function pathOf(target = ''): string {
  return splitTarget(target).path;
}
