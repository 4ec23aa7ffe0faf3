import type { ChannelCredentials } from '@grpc/grpc-js';
import type { OpenSockets } from './open-sockets.ts';

/**
 * Tells `sockets` of those of the channel that is made with these credentials. grpc-js 1.14 lets go of a connection whose peer has not spoken
 * yet without closing it: where the peer never does, it would stay for as long as the process. What is looked into is no part of its documented
 * API: where it is not there, nothing is told.
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
        // One that failed would be made again.
        return sockets.isClosed ? new Promise(() => {}) : connector.connect(socket);
      },
    };
  };
  return insecure;
}
