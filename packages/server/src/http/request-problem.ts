import type { IncomingMessage } from 'node:http';
import { type Reply, text } from './reply.ts';

/**
 * Returns the rejection of an HTTP/1 request whose framing is ambiguous, or `undefined`. A version other than HTTP/1.0
 * and HTTP/1.1 gets 505; more than one `Host` header gets 400. Node.js accepts both faults. Go's server rejects both
 * with the same status (`net/http/server.go: readRequest`).
 */
export function requestProblem({
  httpVersion,
  httpVersionMajor,
  rawHeaders,
}: Pick<IncomingMessage, 'httpVersion' | 'httpVersionMajor' | 'rawHeaders'>): Reply | undefined {
  if (httpVersionMajor !== 1) return refusal(505, `unsupported protocol version HTTP/${httpVersion}`);
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host');
  return hosts.length > 1 ? refusal(400, 'too many Host headers') : undefined;
}

/**
 * Creates the rejection of an ambiguous request. The connection is closed, because data after such a request cannot be
 * trusted.
 */
function refusal(status: number, problem: string): Reply {
  return text(status, `${problem}\n`, { Connection: 'close' });
}
