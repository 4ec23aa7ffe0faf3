import type { HttpResponse } from '../transport.ts';
import type { ApiFailure } from './failure.ts';

/** A complete response, before it is sent. */
export interface Answer {
  readonly status: number;
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

const COMMON = { 'cache-control': 'no-cache, private' };

export function jsonAnswer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  const bytes = new TextEncoder().encode(`${JSON.stringify(body)}\n`);
  return { status, body: bytes, headers: { ...COMMON, 'content-type': 'application/json', ...headers } };
}

export function textAnswer(status: number, body: string): Answer {
  return {
    status,
    body: new TextEncoder().encode(body),
    headers: { ...COMMON, 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
  };
}

export function failureAnswer(failure: ApiFailure): Answer {
  const { retryAfterSeconds } = failure;
  return jsonAnswer(
    failure.code,
    failure.status,
    retryAfterSeconds ? { 'retry-after': String(retryAfterSeconds) } : {},
  );
}

/** Returns warnings as an HTTP header (RFC 7234, code 299). */
export function warningHeader(warnings: readonly string[]): Readonly<Record<string, string>> {
  if (warnings.length === 0) return {};
  const quoted = warnings.map((text) => `299 - "${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`);
  return { warning: quoted.join(', ') };
}

/** Returns a response whose body is a single chunk. */
export function toResponse({ status, body, headers }: Answer): HttpResponse {
  return { status, headers: { ...headers, 'content-length': String(body.length) }, body: once(body) };
}

export async function* once(body: Uint8Array): AsyncGenerator<Uint8Array> {
  yield body;
}
