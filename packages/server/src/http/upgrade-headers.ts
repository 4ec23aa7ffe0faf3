import type { IncomingHttpHeaders } from 'node:http';
import { protocolsWithoutToken } from '../access/bearer-token.ts';

/**
 * Headers that are not forwarded to the runtime: credentials (W4), and headers that describe the client's own
 * connection.
 */
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

/** Headers of a WebSocket handshake that are left out of the SPDY handshake with the runtime. */
const WEB_SOCKET_HEADERS: ReadonlySet<string> = new Set([
  'sec-websocket-extensions',
  'sec-websocket-key',
  'sec-websocket-protocol',
  'sec-websocket-version',
  'upgrade',
  'x-stream-protocol-version',
]);
const [SPDY, PROTOCOL_HEADER] = ['SPDY/3.1', 'X-Stream-Protocol-Version'];

/**
 * Returns the headers that are forwarded to the runtime, names and values in turn. Repeated headers are kept, because
 * clients name each protocol in a header of its own.
 * @param host the host of the runtime's endpoint
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
  // The request to the runtime has no body.
  handedOn.push('Content-Length', '0');
  return handedOn;
}

/**
 * Converts the headers of a WebSocket request into the headers of a SPDY request to the runtime (`createSPDYRequest`,
 * `k8s.io/apiserver/pkg/util/proxy/streamtunnel.go`).
 * @param handedOn the result of {@link upgradeHeaders}
 */
export function tunnelHeaders(handedOn: readonly string[], protocols: readonly string[]): readonly string[] {
  const headers: string[] = [];
  for (let index = 0; index + 1 < handedOn.length; index += 2) {
    const [name = '', value = ''] = handedOn.slice(index, index + 2);
    if (!WEB_SOCKET_HEADERS.has(name.toLowerCase())) headers.push(name, value);
  }
  return [...headers, 'Upgrade', SPDY, ...protocols.flatMap((protocol) => [PROTOCOL_HEADER, protocol])];
}

/** Returns the headers of a SPDY request to the runtime for which no client headers are forwarded. */
export function spdyHeaders(host: string, protocols: readonly string[]): readonly string[] {
  return tunnelHeaders(['Host', host, 'Connection', 'Upgrade', 'Content-Length', '0'], protocols);
}
