import type { IncomingHttpHeaders } from 'node:http';
import { protocolsWithoutToken } from '../access/bearer-token.ts';

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

/** What of a WebSocket's handshake is no part of one for SPDY. */
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

/**
 * The headers of a request by WebSocket as its runtime gets them, which is asked for SPDY (`createSPDYRequest`,
 * `k8s.io/apiserver/pkg/util/proxy/streamtunnel.go`).
 * @param handedOn made by {@link upgradeHeaders}
 */
export function tunnelHeaders(handedOn: readonly string[], protocols: readonly string[]): readonly string[] {
  const headers: string[] = [];
  for (let index = 0; index + 1 < handedOn.length; index += 2) {
    const [name = '', value = ''] = handedOn.slice(index, index + 2);
    if (!WEB_SOCKET_HEADERS.has(name.toLowerCase())) headers.push(name, value);
  }
  return [...headers, 'Upgrade', SPDY, ...protocols.flatMap((protocol) => [PROTOCOL_HEADER, protocol])];
}

/** The headers by which a runtime is asked for SPDY in nobody's name. */
export function spdyHeaders(host: string, protocols: readonly string[]): readonly string[] {
  return tunnelHeaders(['Host', host, 'Connection', 'Upgrade', 'Content-Length', '0'], protocols);
}
