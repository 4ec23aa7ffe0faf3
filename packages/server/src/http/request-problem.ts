import type { IncomingMessage } from 'node:http';
import { type Reply, text } from './reply.ts';

/**
 * Returns the rejection of a request whose framing is ambiguous, before other code reads the request: a version other
 * than HTTP/1.0 and HTTP/1.1 in HTTP/1 framing (505), or more than one `Host` (400). Node.js accepts both. Go's server
 * rejects both with the same status (`net/http/server.go: readRequest`). Returns `undefined` for other requests.
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

/** Data after an ambiguous request cannot be trusted, so the connection is closed. */
function refusal(status: number, problem: string): Reply {
  return text(status, `${problem}\n`, { Connection: 'close' });
}
