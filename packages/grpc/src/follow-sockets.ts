import type { ChannelCredentials } from '@grpc/grpc-js';
import type { OpenSockets } from './open-sockets.ts';

/**
 * Registers the sockets of a channel with `sockets`. grpc-js 1.14 abandons a connection whose peer has not sent
 * anything yet, without closing the connection. If the peer never sends anything, the connection would stay open until
 * the process exits. The function replaces an undocumented method of grpc-js. If the method is missing, no socket is
 * registered.
 * @returns the same credentials
 */
export function followSockets(insecure: ChannelCredentials, sockets: OpenSockets): ChannelCredentials {
  const connectorOf = insecure._createSecureConnector?.bind(insecure);
  if (connectorOf === undefined) return insecure;
  insecure._createSecureConnector = (...given) => {
    const connector = connectorOf(...given);
    return {
      ...connector,
      connect: (socket) => {
        sockets.add(socket);
        // The promise stays pending after the close, because grpc-js would retry a failed connection.
        return sockets.isClosed ? new Promise(() => {}) : connector.connect(socket);
      },
    };
  };
  return insecure;
}
