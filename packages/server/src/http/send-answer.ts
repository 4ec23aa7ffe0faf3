import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { abortable, type Clock, type LinkedAbort, type Timer } from '@node-agent/async';
import type { Answer } from './exchange.ts';
import { http } from './node-http.ts';
import { type BytesReply, internalError, type Reply, text } from './reply.ts';
import { sendStream } from './send-stream.ts';
import { expectSendable } from './sendable.ts';

/** A limit on the time for making an answer. */
export class AnswerDeadline {
  readonly #ms: number;
  readonly #link: LinkedAbort;
  readonly #timer: Timer;
  #isOver = false;

  /** @param link aborted when the deadline passes */
  constructor(clock: Pick<Clock, 'setTimer'>, ms: number, link: LinkedAbort) {
    this.#ms = ms;
    this.#link = link;
    this.#timer = clock.setTimer(ms, () => {
      this.#isOver = true;
      link.abort(new Error(`no answer within ${this.#ms} ms`));
    });
  }

  /** Cancels the deadline. */
  lift(): void {
    this.#timer.cancel();
  }

  /**
   * Waits for an answer. Returns a 504 if the answer is late. Returns a 500 if making the answer fails or the answer is
   * invalid; then the error is passed to `onFailure`.
   */
  async hold(making: Promise<Answer>, onFailure: (err: unknown) => void): Promise<Answer> {
    try {
      return expectSendable(await abortable(making, this.#link.signal));
    } catch (err) {
      if (!this.#link.signal.aborted) onFailure(err);
      return this.failure();
    } finally {
      this.lift();
    }
  }

  /**
   * Returns the reply for a failed answer. The error's text is left out, because it may contain file names, hosts and
   * secrets (W4); it is logged instead.
   */
  failure(): Reply {
    return this.#isOver ? text(504, `no answer within ${this.#ms} ms\n`) : internalError();
  }
}

/** The options for sending an answer. */
interface Sending {
  readonly clock: Pick<Clock, 'setTimer'>;
  /** How long the client may take to receive an answer that is not a stream, in milliseconds. */
  readonly answerMs: number;
  /** How long the client of a stream may receive nothing, in milliseconds. */
  readonly stallMs: number;
  /** Whether to close the connection after the answer. */
  readonly closing: boolean;
}

/**
 * Sends an answer completely. At most one chunk of a stream is buffered ahead of the client. An error in the stream
 * breaks off the response. @throws if the head cannot be sent
 */
export async function sendAnswer(
  answer: Answer,
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
  { clock, answerMs, stallMs, closing }: Sending,
): Promise<void> {
  const isHttp1 = request.httpVersionMajor === 1;
  // A request body that was not read is left unread; the connection is closed instead.
  const hasBody = !request.complete && !request.readableEnded;
  const connection = isHttp1 && (closing || hasBody) ? { Connection: 'close' } : {};
  if (closing && 'stream' in response) response.stream.session?.close();
  const isHead = request.method === 'HEAD';
  if ('stream' in answer) {
    writeHead(response, answer.status, { ...answer.headers, ...connection });
    if ('flushHeaders' in response) response.flushHeaders();
    if (isHead) response.end();
    else await sendStream(answer.stream, response, { clock, stallMs });
    return;
  }
  const body = 'bytes' in answer ? answer.bytes : answer.body;
  const length = Buffer.byteLength(body);
  const timer = clock.setTimer(answerMs, () => request.socket?.destroy());
  const closed = new Promise<void>((resolve) => {
    response.once('close', () => {
      timer.cancel();
      resolve();
    });
  });
  writeHead(response, answer.status, { ...answer.headers, 'Content-Length': String(length), ...connection });
  response.end(isHead ? '' : body);
  await closed;
}

function writeHead(
  response: ServerResponse | Http2ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
): void {
  if ('stream' in response) response.writeHead(status, headers);
  else response.writeHead(status, headers);
}

/**
 * Encodes a reply for a connection that left HTTP handling (an upgrade). The reply tells the client that the connection
 * is closed afterwards.
 */
export function rawReply(reply: Reply | BytesReply): Buffer {
  const { status, headers } = reply;
  const body = 'bytes' in reply ? reply.bytes : Buffer.from(reply.body);
  const all = { ...headers, 'Content-Length': String(body.length), Connection: 'close' };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? 'Unknown'}\r\n${lines.join('')}\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}
