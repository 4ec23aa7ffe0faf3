import { type Answer, once } from '../core/answer.ts';
import type { HttpResponse } from '../transport.ts';
import { ConnectionFault } from './connection-fault.ts';

/**
 * Returns half of a response. With `clean`, the response looks complete; otherwise the connection breaks after the
 * half.
 */
export function truncated({ status, headers, body }: Answer, clean: boolean): HttpResponse {
  const half = body.subarray(0, Math.floor(body.length / 2));
  if (clean) return { status, headers, body: once(half) };
  return { status, headers: { ...headers, 'content-length': String(body.length) }, body: broken(half) };
}

async function* broken(body: Uint8Array): AsyncGenerator<Uint8Array> {
  yield body;
  throw new ConnectionFault('ECONNRESET', 'connection broke in the middle of the body');
}
