import type { IncomingMessage } from 'node:http';
import { type Reply, text } from './reply.ts';

/**
 * Returns the refusal of a request whose framing is ambiguous, before anything else looks at the request: another version
 * than HTTP/1.0 and HTTP/1.1 in the framing of HTTP/1 (505), or more than one `Host` (400). Node.js accepts both. Go's server
 * refuses both with the same status (`net/http/server.go: readRequest`). Returns `undefined` for other requests.
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

/** What follows an ambiguous request on its connection cannot be trusted: the connection is closed. */
function refusal(status: number, problem: string): Reply {
  return text(status, `${problem}\n`, { Connection: 'close' });
}
