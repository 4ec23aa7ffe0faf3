import type { Clock } from '@node-agent/async';
import { type ExchangeOptions, RequestUnderWay } from './exchange.ts';
import { goQuote } from './go-quote.ts';
import { withoutPassword } from './go-url.ts';
import { type HttpGetRequest, urlOf } from './http-request.ts';
import type { Exchange } from './http-response.ts';
import { NO_REDIRECT, type Redirect, redirectOf } from './redirect.ts';
import type { SentRequest } from './request-head.ts';
import { MAX_BODY_BYTES } from './response-body.ts';

/** Outcome of an `httpGet`. */
export type HttpGetResult =
  | {
      readonly kind: 'answer';
      readonly status: number;
      /** The first 10 KiB of the body, decoded as UTF-8. */
      readonly body: string;
      /** Go's error text, if the body ended early. */
      readonly bodyFault?: string;
    }
  /** The request got no response. The message has the text of Go's client: `Get "http://10.0.0.5:80/": EOF`. */
  | { readonly kind: 'fault'; readonly message: string };

/** Options of {@link httpGet}. */
export interface HttpGetOptions {
  readonly clock: Pick<Clock, 'setTimer' | 'monotonic'>;
  /** Time limit in ms for the whole action, including redirects. Default: no limit. */
  readonly timeoutMs?: number;
  /**
   * Whether HTTP/2 is offered to an HTTPS server. Upstream's probes offer it, its lifecycle hooks do not. Default:
   * true.
   */
  readonly http2?: boolean;
}

/**
 * Maximum number of bytes that are read of a redirect's body. Go reads these bytes in order to reuse the connection. If
 * Content-Length says that the body is longer, nothing is read.
 */
const MAX_REDIRECT_BODY_BYTES = 2048;

/**
 * Performs an `httpGet` (`pkg/probe/http/http.go`). Redirects to the same host are followed, with at most ten requests
 * in total. 10 KiB of the last body are read (R3). Every request uses a new connection that is reset at the end.
 * Failures of the server do not reject the promise, but are returned as a `fault`.
 * @throws the signal's reason if the signal is aborted
 */
export async function httpGet(
  first: HttpGetRequest,
  { clock, timeoutMs, http2 = true }: HttpGetOptions,
  signal?: AbortSignal,
): Promise<HttpGetResult> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<HttpGetResult>();
  const deadlineMs = timeoutMs === undefined ? undefined : clock.monotonic() + timeoutMs;
  const underWay = new HttpGetUnderWay(first, { clock, deadlineMs, http2 }, resolve);
  const timer = timeoutMs === undefined ? undefined : clock.setTimer(timeoutMs, () => underWay.expire());
  const end = (): void => {
    underWay.callOff();
    reject(signal?.reason);
  };
  signal?.addEventListener('abort', end, { once: true });
  try {
    return await promise;
  } finally {
    timer?.cancel();
    signal?.removeEventListener('abort', end);
    signal?.throwIfAborted();
  }
}

/**
 * Performs an `httpGet` that starts on construction, for callers that run many of them. The caller measures the time,
 * calls {@link expire} at the deadline, and calls {@link callOff} to cancel.
 */
export class HttpGetUnderWay {
  readonly #first: HttpGetRequest;
  readonly #options: ExchangeOptions;
  readonly #done: (result: HttpGetResult) => void;
  #request: SentRequest;
  #sent = 0;
  #underWay: RequestUnderWay;
  #next: Redirect = NO_REDIRECT;
  #hasExpired = false;

  /**
   * @param done called at most once with the result. It is not called from within the constructor, nor after {@link
   * callOff}
   */
  constructor(first: HttpGetRequest, options: ExchangeOptions, done: (result: HttpGetResult) => void) {
    this.#first = first;
    this.#options = options;
    this.#done = done;
    this.#request = first;
    this.#underWay = this.#send();
  }

  /** Called by the owner at the deadline. Calls `done` synchronously with the part of the response that has arrived. */
  expire(): void {
    this.#hasExpired = true;
    this.#underWay.expire();
  }

  /** Cancels the action and resets its connection. */
  callOff(): void {
    this.#underWay.callOff();
  }

  #send(): RequestUnderWay {
    this.#sent += 1;
    return new RequestUnderWay(this.#request, this.#limitOf, this.#options, this.#answered);
  }

  readonly #limitOf = (status: number, location: string | undefined, length: number | undefined): number => {
    this.#next = redirectOf(this.#request, this.#first, status, location, this.#sent);
    if (this.#next.kind === 'none') return MAX_BODY_BYTES;
    if (this.#next.kind === 'fault' && !this.#next.readsBody) return 0;
    return (length ?? 0) > MAX_REDIRECT_BODY_BYTES ? 0 : MAX_REDIRECT_BODY_BYTES;
  };

  readonly #answered = (outcome: Exchange): void => {
    if (outcome.kind === 'fault') {
      this.#fault(withoutPassword(urlOf(this.#request)), outcome.message);
      return;
    }
    const next = this.#next;
    this.#next = NO_REDIRECT;
    if (next.kind === 'none') this.#done(answerOf(outcome));
    else if (next.kind === 'fault') this.#fault(next.url, next.message);
    else {
      this.#request = next.request;
      this.#underWay = this.#send();
      if (this.#hasExpired) this.#underWay.expire();
    }
  };

  #fault(url: string, message: string): void {
    this.#done({ kind: 'fault', message: described(url, message) });
  }
}

function answerOf({ status, body, bodyFault }: Exchange & { readonly kind: 'answer' }): HttpGetResult {
  return bodyFault === undefined ? { kind: 'answer', status, body } : { kind: 'answer', status, body, bodyFault };
}

/**
 * Maximum length of the URL in an error message. It is limited because a container controls where its redirects lead,
 * and error messages are stored in events.
 */
const MAX_URL_LENGTH = 2048;
const MAX_MESSAGE_LENGTH = 8192;

function described(url: string, message: string): string {
  return `Get ${goQuote(url.slice(0, MAX_URL_LENGTH))}: ${message}`.slice(0, MAX_MESSAGE_LENGTH);
}
