import type { IncomingMessage } from 'node:http';
import { Http2ServerRequest } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

/** Returns the connection of a request, or `undefined` if the connection is already closed. */
export function socketOf(request: IncomingMessage | Http2ServerRequest): TLSSocket | undefined {
  const socket: Socket | undefined =
    request instanceof Http2ServerRequest ? request.stream.session?.socket : request.socket;
  // For HTTP/2, Node.js returns a proxy of the socket. `isTlsSocket` reads a method, because the proxy's methods exist
  // only when they are read.
  return isTlsSocket(socket) ? socket : undefined;
}

type Ends = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort'>;

/**
 * Returns a key that identifies a connection by the addresses of both ends, because several objects may represent the
 * same connection. One client port may connect to several server addresses.
 */
export function keyOf({ remoteAddress, remotePort, localAddress, localPort }: Ends): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}

/**
 * Returns the client's address. The address of an IPv4 client on a dual-stack socket is returned in IPv4 notation, as
 * in Go.
 */
export function remoteAddressOf({ remoteAddress = '' }: Pick<Socket, 'remoteAddress'>): string {
  return remoteAddress.replace(/^::ffff:(?=\d+\.)/, '');
}

function isTlsSocket(socket: Socket | undefined): socket is TLSSocket {
  return socket !== undefined && typeof (socket as Partial<TLSSocket>).getPeerCertificate === 'function';
}
