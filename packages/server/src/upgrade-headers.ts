import type { IncomingHttpHeaders } from 'node:http';
import { protocolsWithoutToken } from './bearer-token.ts';

/** What is the kubelet's alone: credentials (W4), and how the request itself was sent. */
const NOT_HANDED_ON: ReadonlySet<string> = new Set([
  'authorization',
  'content-length',
  'cookie',
  'host',
  'proxy-authorization',
  'sec-websocket-protocol',
  'transfer-encoding',
  'x-forwarded-for',
]);

/**
 * The headers of a request as its runtime gets them, names and values in turn: each as often as it came, for clients name a
 * protocol by a header each.
 * @param host of the runtime's endpoint
 */
export function upgradeHeaders(
  rawHeaders: readonly string[],
  headers: IncomingHttpHeaders,
  host: string,
  remoteAddress: string,
): readonly string[] {
  const handedOn: string[] = ['Host', host];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
    if (!NOT_HANDED_ON.has(name.toLowerCase())) handedOn.push(name, value);
  }
  const protocols = protocolsWithoutToken(headers);
  if (protocols.length > 0) handedOn.push('Sec-WebSocket-Protocol', protocols.join(', '));
  const before = headers['x-forwarded-for'];
  handedOn.push('X-Forwarded-For', before === undefined ? remoteAddress : `${before}, ${remoteAddress}`);
  // There is no body: none may be waited for.
  handedOn.push('Content-Length', '0');
  return handedOn;
}
