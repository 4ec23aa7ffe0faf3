import type { Clock } from '@node-agent/async';
import { exchange } from './exchange.ts';
import { goQuote } from './go-quote.ts';
import { withoutPassword } from './go-url.ts';
import { type HttpGetRequest, urlOf } from './http-request.ts';
import { Life } from './life.ts';
import { type Redirect, redirectOf } from './redirect.ts';
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
  const life = new Life(timeoutMs === undefined ? undefined : clock.monotonic() + timeoutMs);
  const end = (): void => life.end();
  const timer = timeoutMs === undefined ? undefined : clock.setTimer(timeoutMs, end);
  signal?.addEventListener('abort', end, { once: true });
  try {
    return await followed(first, { clock, life, http2 });
  } finally {
    timer?.cancel();
    signal?.removeEventListener('abort', end);
    signal?.throwIfAborted();
  }
}

async function followed(
  first: HttpGetRequest,
  options: Pick<HttpGetOptions, 'clock'> & { readonly life: Life; readonly http2: boolean },
): Promise<HttpGetResult> {
  let request: SentRequest = first;
  for (let sent = 1; ; sent++) {
    let next: Redirect = { kind: 'none' };
    const limitOf = (status: number, location: string | undefined, length: number | undefined): number => {
      next = redirectOf(request, first, status, location, sent);
      if (next.kind === 'none') return MAX_BODY_BYTES;
      if (next.kind === 'fault' && !next.readsBody) return 0;
      return (length ?? 0) > MAX_REDIRECT_BODY_BYTES ? 0 : MAX_REDIRECT_BODY_BYTES;
    };
    const outcome = await exchange(request, { ...options, limitOf });
    if (outcome.kind === 'fault')
      return { kind: 'fault', message: described(withoutPassword(urlOf(request)), outcome.message) };
    const { location: _, ...answer } = outcome;
    const leads = next as Redirect;
    if (leads.kind === 'none') return answer;
    if (leads.kind === 'fault') return { kind: 'fault', message: described(leads.url, leads.message) };
    request = leads.request;
  }
}

/** What is told of a URL, and in all: a container says where a redirect leads, and its events are kept. */
const MAX_URL_LENGTH = 2048;
const MAX_MESSAGE_LENGTH = 8192;

function described(url: string, message: string): string {
  return `Get ${goQuote(url.slice(0, MAX_URL_LENGTH))}: ${message}`.slice(0, MAX_MESSAGE_LENGTH);
}
