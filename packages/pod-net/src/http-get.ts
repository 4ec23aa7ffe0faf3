import type { Clock } from '@node-agent/async';
import { type ExchangeOptions, RequestUnderWay } from './exchange.ts';
import { goQuote } from './go-quote.ts';
import { withoutPassword } from './go-url.ts';
import { type HttpGetRequest, urlOf } from './http-request.ts';
import type { Exchange } from './http-response.ts';
import { NO_REDIRECT, type Redirect, redirectOf } from './redirect.ts';
import type { SentRequest } from './request-head.ts';
import { MAX_BODY_BYTES } from './response-body.ts';

/** What came of an `httpGet`. */
export type HttpGetResult =
  | {
      readonly kind: 'answer';
      readonly status: number;
      /** At most 10 KiB of it, as UTF-8. */
      readonly body: string;
      /** Why the body ended before its end, in Go's words. */
      readonly bodyFault?: string;
    }
  /** There was no answer: `Get "http://10.0.0.5:80/": EOF`, in the words of Go's client. */
  | { readonly kind: 'fault'; readonly message: string };

/** How {@link httpGet} is carried out. */
export interface HttpGetOptions {
  readonly clock: Pick<Clock, 'setTimer' | 'monotonic'>;
  /** For all of it, redirects too, in ms; none where absent. */
  readonly timeoutMs?: number;
  /** Whether a server of HTTPS is offered HTTP/2, as upstream's probes do and its hooks do not; default true. */
  readonly http2?: boolean;
}

/** Of the body of a redirect so much is read, in bytes, where it is not known to be longer: Go would use the connection again. */
const MAX_REDIRECT_BODY_BYTES = 2048;

/**
 * Carries out an `httpGet`: with redirects to the same host, at most ten requests, 10 KiB of the last body (R3). Every connection is new
 * and is reset at its end. It never rejects for what a server does. (`pkg/probe/http/http.go`)
 * @throws the signal's reason
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

/** An {@link httpGet} that begins when it is made, for those who make many: what counts its time, and calls it off, is theirs. */
export class HttpGetUnderWay {
  readonly #first: HttpGetRequest;
  readonly #options: ExchangeOptions;
  readonly #done: (result: HttpGetResult) => void;
  #request: SentRequest;
  #sent = 0;
  #underWay: RequestUnderWay;
  #next: Redirect = NO_REDIRECT;
  #hasExpired = false;

  /** @param done is told once; not from within the constructor, nor after {@link callOff} */
  constructor(first: HttpGetRequest, options: ExchangeOptions, done: (result: HttpGetResult) => void) {
    this.#first = first;
    this.#options = options;
    this.#done = done;
    this.#request = first;
    this.#underWay = this.#send();
  }

  /** Its time is up: it is told at once what there is by now. */
  expire(): void {
    this.#hasExpired = true;
    this.#underWay.expire();
  }

  /** Nobody waits for it any more: its connection is reset. */
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

/** What is told of a URL, and in all: a container says where a redirect leads, and its events are kept. */
const MAX_URL_LENGTH = 2048;
const MAX_MESSAGE_LENGTH = 8192;

function described(url: string, message: string): string {
  return `Get ${goQuote(url.slice(0, MAX_URL_LENGTH))}: ${message}`.slice(0, MAX_MESSAGE_LENGTH);
}
