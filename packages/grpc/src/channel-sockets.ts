import type { Socket } from 'node:net';
import type { ChannelCredentials } from '@grpc/grpc-js';

/**
 * The sockets of one channel. grpc-js 1.14 lets go of a connection whose peer has not spoken yet without closing it: where the peer never
 * does, it would stay for as long as the process. What is looked into is no part of its documented API: where it is not there, nothing is
 * followed.
 */
export class ChannelSockets {
  readonly #open = new Set<Socket>();
  #isClosed = false;

  /** @param insecure those that the channel is made with; its sockets are known here from then on */
  follow(insecure: ChannelCredentials): ChannelCredentials {
    const connectorOf = insecure._createSecureConnector?.bind(insecure);
    if (connectorOf === undefined) return insecure;
    insecure._createSecureConnector = (...given) => {
      const connector = connectorOf(...given);
      return {
        ...connector,
        connect: (socket) => {
          this.#add(socket);
          // One that failed would be made again.
          return this.#isClosed ? new Promise(() => {}) : connector.connect(socket);
        },
      };
    };
    return insecure;
  }

  /** Ends those that there are, and what is connected from now on. */
  close(): void {
    this.#isClosed = true;
    for (const socket of this.#open) socket.destroy();
  }

  #add(socket: Socket): void {
    if (this.#isClosed) socket.destroy();
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
  }
}
