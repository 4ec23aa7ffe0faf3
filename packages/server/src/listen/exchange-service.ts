import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Socket } from 'node:net';
import { type Clock, type LinkedAbort, linkAbort } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';
import { ServerError } from '../errors.ts';
import type { Exchange, ExchangeHandlers } from '../http/exchange.ts';
import { readBody } from '../http/read-body.ts';
import { splitTarget } from '../http/request-path.ts';
import { requestProblem } from '../http/request-problem.ts';
import { isGone } from '../http/response-state.ts';
import { AnswerDeadline, rawReply, sendAnswer } from '../http/send-answer.ts';
import { expectSendable } from '../http/sendable.ts';
import type { ConnectionLedger } from './connection-ledger.ts';

/** The client of a connection. */
export interface Peer extends Pick<Exchange, 'certificate' | 'remoteAddress'> {
  /** The key that identifies the connection in the `ConnectionLedger`. */
  readonly key: string;
}

type AnyRequest = IncomingMessage | Http2ServerRequest;
type AnyResponse = ServerResponse | Http2ServerResponse;

/**
 * The part of an HTTP server that {@link ExchangeService} uses; servers of `node:http` and `node:http2` implement it.
 */
interface RequestSource {
  on(event: 'request' | 'checkContinue', listener: (request: AnyRequest, response: AnyResponse) => void): unknown;
  on(event: 'upgrade', listener: (request: IncomingMessage, socket: Socket, rest: Buffer) => void): unknown;
}

/** The components of {@link ExchangeService}. */
interface ExchangeServiceComponents {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ledger: ConnectionLedger;
  /** Returns the client of a request; `undefined` if its connection is already closed. */
  peerOf(request: AnyRequest): Peer | undefined;
  /** Returns the part of a path that may be logged. Default: the path as received. */
  readonly shownPath?: ((path: string) => string) | undefined;
}

/** The time limits of {@link ExchangeService}, in milliseconds. */
interface ExchangeLimits {
  /** How long making an answer may take, and how long the client may take to receive it. */
  readonly answerMs: number;
  /** How long the client of a streamed answer may receive nothing. */
  readonly stallMs: number;
  /** How long a client may take to close its connection after a rejected upgrade. */
  readonly closingMs: number;
}

/** Passes the requests of an HTTP server to handlers, and sends the handlers' answers. */
export class ExchangeService {
  readonly #components: ExchangeServiceComponents;
  readonly #limits: ExchangeLimits;
  /**
   * The requests in progress. They are kept here so that {@link abort} can abort all of them without one signal
   * listener per request.
   */
  readonly #underWay = new Set<LinkedAbort>();

  constructor(components: ExchangeServiceComponents, limits: ExchangeLimits) {
    this.#components = components;
    this.#limits = limits;
  }

  /** Passes all requests of a server to `handlers`. @param ending aborted when the server stops */
  listen(server: RequestSource, handlers: ExchangeHandlers, ending: AbortSignal): void {
    server.on('request', (request, response) => {
      // An HTTP/2 stream may be reset in the same packet as its request. `setImmediate` lets that reset be processed
      // first, so that the request is not authenticated needlessly.
      if ('stream' in response) setImmediate(() => void this.#serve(request, response, handlers, ending));
      else void this.#serve(request, response, handlers, ending);
    });
    // Without this listener, Node.js would request the body before the client is authorized.
    server.on('checkContinue', (request, response) => {
      void this.#serve(request, response, handlers, ending, () => response.writeContinue());
    });
    server.on('upgrade', (request, socket, rest) => {
      void this.#upgrade(request, socket, rest, handlers, ending);
    });
  }

  /** Aborts all requests in progress. */
  abort(reason: unknown): void {
    for (const link of [...this.#underWay]) link.abort(reason);
  }

  async #serve(
    request: AnyRequest,
    response: AnyResponse,
    handlers: ExchangeHandlers,
    ending: AbortSignal,
    askForBody: () => void = () => {},
  ): Promise<void> {
    if (isGone(response)) return;
    using under = this.#begin(ending);
    const { link } = under;
    const { clock, logger, ledger } = this.#components;
    const peer = this.#components.peerOf(request);
    if (peer === undefined) {
      response.destroy();
      return;
    }
    using _busy = ledger.begin(peer.key, 'stream' in request ? headBytes(request.rawHeaders) : 0);
    // The event `close`, which follows every connection error, is handled instead.
    response.on('error', () => {});
    response.once('close', () => link.abort(new ServerError('Ended', 'the client disconnected')));
    const { answerMs, stallMs } = this.#limits;
    const deadline = new AnswerDeadline(clock, answerMs, link);
    const body = async (limitBytes: number): Promise<Buffer | undefined> => {
      askForBody();
      return await readBody(request, limitBytes);
    };
    const exchange = this.#exchange(request, peer, link.signal, { takeTime: () => deadline.lift(), body });
    const problem = 'stream' in request ? undefined : requestProblem(request);
    const making = problem === undefined ? handlers.answer(exchange) : Promise.resolve(problem);
    const answer = await deadline.hold(making, (err) => {
      logger.error({ err, method: request.method, path: this.#pathOf(request) }, 'HTTP request failed');
    });
    if (isGone(response)) return;
    // Closes the connection, because only the handshake of a new connection is verified against the current
    // authorities.
    const closing = answer.status === 401 && exchange.certificate !== undefined;
    try {
      await sendAnswer(answer, request, response, { clock, answerMs, stallMs, closing });
    } catch (err) {
      // Handles answers that one HTTP version accepts and the other rejects.
      logger.error({ err, method: request.method, path: this.#pathOf(request) }, 'Failed to send HTTP answer');
      response.destroy();
    }
  }

  async #upgrade(
    request: IncomingMessage,
    socket: Socket,
    rest: Buffer,
    handlers: ExchangeHandlers,
    ending: AbortSignal,
  ): Promise<void> {
    using under = this.#begin(ending);
    const { link } = under;
    const onClose = (): void => link.abort(new ServerError('Ended', 'the client disconnected'));
    socket.on('error', () => {});
    socket.once('close', onClose);
    const { clock, logger, ledger } = this.#components;
    const peer = this.#components.peerOf(request);
    // On a connection with pipelined requests, the response of an earlier request would be written into the upgraded
    // stream.
    if (peer === undefined || ledger.isBusy(peer.key)) {
      socket.destroy();
      return;
    }
    using _busy = ledger.begin(peer.key);
    const deadline = new AnswerDeadline(clock, this.#limits.answerMs, link);
    const body = (limitBytes: number) => readBody(request, limitBytes);
    const exchange = this.#exchange(request, peer, link.signal, { takeTime: () => deadline.lift(), body });
    const problem = requestProblem(request);
    const upgraded = { ...exchange, rawHeaders: request.rawHeaders, connection: socket, rest };
    const reply = await (problem === undefined ? handlers.upgrade(upgraded) : Promise.resolve(problem))
      .then((given) => given && expectSendable(given))
      .catch((err: unknown) => {
        if (!link.signal.aborted)
          logger.error({ err, method: request.method, path: this.#pathOf(request) }, 'HTTP upgrade failed');
        return deadline.failure();
      })
      .finally(() => deadline.lift());
    if (reply === undefined || socket.destroyed) return;
    try {
      socket.end(rawReply(reply));
    } catch (err) {
      logger.error({ err, method: request.method, path: this.#pathOf(request) }, 'Failed to send HTTP answer');
      socket.destroy();
      return;
    }
    const late = clock.setTimer(this.#limits.closingMs, () => socket.destroy());
    socket.once('close', () => late.cancel());
    socket.resume();
  }

  /** Registers a request as in progress until the returned value is disposed. */
  #begin(ending: AbortSignal): Disposable & { readonly link: LinkedAbort } {
    const link = linkAbort();
    if (ending.aborted) link.abort(ending.reason);
    this.#underWay.add(link);
    return { link, [Symbol.dispose]: () => void this.#underWay.delete(link) };
  }

  /** Returns the path for logs. The query is removed: it may contain a command with secrets (W4). */
  #pathOf({ url = '' }: AnyRequest): string {
    const { path } = splitTarget(url);
    return this.#components.shownPath?.(path) ?? path;
  }

  #exchange(
    request: AnyRequest,
    { key, certificate, remoteAddress }: Peer,
    signal: AbortSignal,
    own: Pick<Exchange, 'takeTime' | 'body'>,
  ): Exchange {
    return {
      method: request.method ?? 'GET',
      target: request.url ?? '/',
      headers: request.headers,
      certificate,
      remoteAddress,
      signal,
      trust: () => this.#components.ledger.trusted(key),
      ...own,
    };
  }
}

function headBytes(rawHeaders: readonly string[]): number {
  return rawHeaders.reduce((sum, { length }) => sum + length, 0);
}
