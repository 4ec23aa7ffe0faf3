import type { Clock } from '@node-agent/async';
import { exchange } from './exchange.ts';
import { type HttpGetRequest, urlOf } from './http-request.ts';
import { Life } from './life.ts';
import { redirectOf } from './redirect.ts';

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
  readonly clock: Pick<Clock, 'setTimer'>;
  /** For all of it, redirects too, in ms; none where absent. */
  readonly timeoutMs?: number;
}

/**
 * Carries out an `httpGet`: with redirects to the same host, at most ten requests, 10 KiB of the last body (R3). Every connection is new
 * and is reset at its end. It never rejects for what a server does. (`pkg/probe/http/http.go`)
 * @throws the signal's reason
 */
export async function httpGet(
  first: HttpGetRequest,
  { clock, timeoutMs }: HttpGetOptions,
  signal?: AbortSignal,
): Promise<HttpGetResult> {
  signal?.throwIfAborted();
  const life = new Life();
  const end = (): void => life.end();
  const timer = timeoutMs === undefined ? undefined : clock.setTimer(timeoutMs, end);
  signal?.addEventListener('abort', end, { once: true });
  try {
    return await followed(first, life);
  } finally {
    timer?.cancel();
    signal?.removeEventListener('abort', end);
    signal?.throwIfAborted();
  }
}

async function followed(first: HttpGetRequest, life: Life): Promise<HttpGetResult> {
  let request = first;
  for (let sent = 1; ; sent++) {
    const outcome = await exchange(request, life);
    if (outcome.kind === 'fault') return { kind: 'fault', message: described(urlOf(request), outcome.message) };
    const { location, ...answer } = outcome;
    const next = redirectOf(request, first, answer.status, location, sent);
    if (next.kind === 'none') return answer;
    if (next.kind === 'fault') return { kind: 'fault', message: described(next.url, next.message) };
    request = next.request;
  }
}

/** What is told of a URL, and in all: a container says where a redirect leads, and its events are kept. */
const MAX_URL_LENGTH = 2048;
const MAX_MESSAGE_LENGTH = 8192;

function described(url: string, message: string): string {
  return `Get ${JSON.stringify(url.slice(0, MAX_URL_LENGTH))}: ${message}`.slice(0, MAX_MESSAGE_LENGTH);
}
