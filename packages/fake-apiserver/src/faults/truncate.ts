import { type Answer, once } from '../core/answer.ts';
import type { HttpResponse } from '../transport.ts';
import { ConnectionFault } from './connection-fault.ts';

/** Half of an answer: `clean`, as though it were all; or with a connection that breaks after it. */
export function truncated({ status, headers, body }: Answer, clean: boolean): HttpResponse {
  const half = body.subarray(0, Math.floor(body.length / 2));
  if (clean) return { status, headers, body: once(half) };
  return { status, headers: { ...headers, 'content-length': String(body.length) }, body: broken(half) };
}

async function* broken(body: Uint8Array): AsyncGenerator<Uint8Array> {
  yield body;
  throw new ConnectionFault('ECONNRESET', 'the body ended half way');
}
