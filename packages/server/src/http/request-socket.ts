import type { IncomingMessage } from 'node:http';
import { Http2ServerRequest } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

/** Returns the connection of a request, or `undefined` if it is already closed. */
export function socketOf(request: IncomingMessage | Http2ServerRequest): TLSSocket | undefined {
  const socket: Socket | undefined =
    request instanceof Http2ServerRequest ? request.stream.session?.socket : request.socket;
  // HTTP/2 passes a proxy of the socket, whose methods exist only when they are read.
  return isTlsSocket(socket) ? socket : undefined;
}

type Ends = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort'>;

/**
 * Identifies a connection by the addresses of both ends, whichever object represents it. One client port may connect to
 * several server addresses.
 */
export function keyOf({ remoteAddress, remotePort, localAddress, localPort }: Ends): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}

/** Returns the client's address. An IPv4 client of a dual-stack socket gets its IPv4 address, as in Go. */
export function remoteAddressOf({ remoteAddress = '' }: Pick<Socket, 'remoteAddress'>): string {
  return remoteAddress.replace(/^::ffff:(?=\d+\.)/, '');
}

function isTlsSocket(socket: Socket | undefined): socket is TLSSocket {
  return socket !== undefined && typeof (socket as Partial<TLSSocket>).getPeerCertificate === 'function';
}
