import type { IncomingHttpHeaders } from 'node:http';
import { protocolsWithoutToken } from '../access/bearer-token.ts';

/** The protocol of exec and attach that a client ends its input by, while it listens on (KEP-4006). */
export const COMMAND_PROTOCOL = 'v5.channel.k8s.io';
/** What a protocol's name begins and ends with that is one of SPDY, told in messages of a WebSocket. */
const [TUNNEL_PREFIX, TUNNEL_SUFFIX] = ['SPDY/3.1+', '.k8s.io'];

/** Whether a request asks for {@link COMMAND_PROTOCOL} (`IsWebSocketRequestWithStreamCloseProtocol`, `k8s.io/streaming/pkg/httpstream/wsstream`). */
export function asksForCommandChannels(headers: IncomingHttpHeaders): boolean {
  return protocolsWithoutToken(headers).includes(COMMAND_PROTOCOL);
}

/** The protocols of SPDY that a request asks to be told by WebSocket: none for any other request (`IsWebSocketRequestWithTunnelingProtocol`). */
export function tunnelledProtocols(headers: IncomingHttpHeaders): readonly string[] {
  return protocolsWithoutToken(headers)
    .filter((protocol) => protocol.startsWith(TUNNEL_PREFIX) && protocol.endsWith(TUNNEL_SUFFIX))
    .map((protocol) => protocol.slice(TUNNEL_PREFIX.length));
}

/** The name of a protocol of SPDY where it is told by WebSocket. */
export function tunnelProtocol(protocol: string): string {
  return `${TUNNEL_PREFIX}${protocol}`;
}
