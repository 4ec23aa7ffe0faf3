import type { IncomingHttpHeaders } from 'node:http';
import { protocolsWithoutToken } from '../access/bearer-token.ts';

/** The protocol of exec and attach with which a client can end its input and still receive output (KEP-4006). */
export const COMMAND_PROTOCOL = 'v5.channel.k8s.io';
/** Prefix and suffix of a SPDY protocol inside a WebSocket. */
const [TUNNEL_PREFIX, TUNNEL_SUFFIX] = ['SPDY/3.1+', '.k8s.io'];

/**
 * Returns whether a request asks for {@link COMMAND_PROTOCOL} (`IsWebSocketRequestWithStreamCloseProtocol`,
 * `k8s.io/streaming/pkg/httpstream/wsstream`).
 */
export function asksForCommandChannels(headers: IncomingHttpHeaders): boolean {
  return protocolsWithoutToken(headers).includes(COMMAND_PROTOCOL);
}

/**
 * Returns the SPDY protocols that a request asks to tunnel over a WebSocket, or an empty list for other requests
 * (`IsWebSocketRequestWithTunnelingProtocol`).
 */
export function tunnelledProtocols(headers: IncomingHttpHeaders): readonly string[] {
  return protocolsWithoutToken(headers)
    .filter((protocol) => protocol.startsWith(TUNNEL_PREFIX) && protocol.endsWith(TUNNEL_SUFFIX))
    .map((protocol) => protocol.slice(TUNNEL_PREFIX.length));
}

/** Returns the WebSocket name of a tunnelled SPDY protocol. */
export function tunnelProtocol(protocol: string): string {
  return `${TUNNEL_PREFIX}${protocol}`;
}
