import type { IncomingMessage } from 'node:http';
import { Http2ServerRequest } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

/** The connection that a request came by; `undefined` where it is closed already. */
export function socketOf(request: IncomingMessage | Http2ServerRequest): TLSSocket | undefined {
  const socket: Socket | undefined =
    request instanceof Http2ServerRequest ? request.stream.session?.socket : request.socket;
  // HTTP/2 gives a stand-in of the socket, which knows its methods only when they are asked for.
  return isTlsSocket(socket) ? socket : undefined;
}

type Ends = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort'>;

/** Names a connection by both its ends, whichever object stands for it: one port of a client may lead to each of our addresses. */
export function keyOf({ remoteAddress, remotePort, localAddress, localPort }: Ends): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}

/** Returns the client's address; an IPv4 client of a dual-stack socket has its IPv4 address, as Go writes it. */
export function remoteAddressOf({ remoteAddress = '' }: Pick<Socket, 'remoteAddress'>): string {
  return remoteAddress.replace(/^::ffff:(?=\d+\.)/, '');
}

function isTlsSocket(socket: Socket | undefined): socket is TLSSocket {
  return socket !== undefined && typeof (socket as Partial<TLSSocket>).getPeerCertificate === 'function';
}
