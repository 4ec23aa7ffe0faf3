import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { abortable, type Clock, type LinkedAbort, type Timer } from '@node-agent/async';
import type { Answer } from './exchange.ts';
import { http } from './node-http.ts';
import { type BytesReply, internalError, type Reply, text } from './reply.ts';
import { sendStream } from './send-stream.ts';
import { expectSendable } from './sendable.ts';

/** The time that an answer may take to be made. */
export class AnswerDeadline {
  readonly #ms: number;
  readonly #link: LinkedAbort;
  readonly #timer: Timer;
  #isOver = false;

  /** @param link aborted when the time is over */
  constructor(clock: Pick<Clock, 'setTimer'>, ms: number, link: LinkedAbort) {
    this.#ms = ms;
    this.#link = link;
    this.#timer = clock.setTimer(ms, () => {
      this.#isOver = true;
      link.abort(new Error(`no answer within ${this.#ms} ms`));
    });
  }

  /** There is none any more. */
  lift(): void {
    this.#timer.cancel();
  }

  /** An answer in time: 504 in place of one that is late, 500 in place of one that fails or cannot be sent, of which `onFailure` hears. */
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

  /** The reply in place of a failed one. It keeps the error's text back: that may name files, hosts and secrets (W4), and is in the log. */
  failure(): Reply {
    return this.#isOver ? text(504, `no answer within ${this.#ms} ms\n`) : internalError();
  }
}

/** How an answer is sent. */
interface Sending {
  readonly clock: Pick<Clock, 'setTimer'>;
  /** How long the client may take to take it, where it is no stream. */
  readonly answerMs: number;
  /** As long, of a stream, since it has last taken something of it. */
  readonly stallMs: number;
  /** Whether the connection is closed after it. */
  readonly closing: boolean;
}

/** Sends an answer to its end, of which no more is held than the client takes; a stream that breaks breaks it off. @throws where it cannot be begun */
export async function sendAnswer(
  answer: Answer,
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
  { clock, answerMs, stallMs, closing }: Sending,
): Promise<void> {
  const isHttp1 = request.httpVersionMajor === 1;
  // A body that nobody wants is not read to its end.
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

/** An answer as it is written to a connection that HTTP has let go of, which is closed after it. */
export function rawReply(reply: Reply | BytesReply): Buffer {
  const { status, headers } = reply;
  const body = 'bytes' in reply ? reply.bytes : Buffer.from(reply.body);
  const all = { ...headers, 'Content-Length': String(body.length), Connection: 'close' };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? 'Unknown'}\r\n${lines.join('')}\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}
