import { X509Certificate } from 'node:crypto';
import type { Http2SecureServer, ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Clock, Timer } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';
import { keyOf, remoteAddressOf } from '../http/request-socket.ts';
import type { ConnectionLedger } from './connection-ledger.ts';

/** Time limits of HTTP/2 connections. */
export interface SessionLimits {
  /** How long a connection without a stream is kept, in milliseconds. */
  readonly idleMs: number;
  /** How long a client may take to close a connection that the server has closed, in milliseconds. */
  readonly lingerMs: number;
}

/**
 * Registers all connections of a server in its ledger. Closes HTTP/2 connections that are idle or whose client has
 * disconnected.
 */
export function trackConnections(
  server: Http2SecureServer,
  ledger: ConnectionLedger,
  { clock, logger }: { readonly clock: Pick<Clock, 'setTimer'>; readonly logger: Logger },
  limits: SessionLimits,
): void {
  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket);
    ledger.opened(key, { destroy: () => socket.destroy() });
    socket.once('close', () => ledger.closed(key));
  });
  // This listener must run before the HTTP/2 listener, whose `session` event later replaces how the connection is
  // closed.
  server.prependListener('secureConnection', (socket: TLSSocket) => {
    ledger.setEnds(keyOf(socket), { destroy: () => socket.destroy() });
    if (!socket.authorized) clearHandshakeErrors(socket);
    if (socket.alpnProtocol === 'h2') destroyAtEnd(socket);
  });
  countHeads(server, ledger);
  server.on('session', (session) => {
    // Only `close` is replaced for HTTP/2. `destroy` must still work on a session that sent GOAWAY while its client
    // stays connected.
    ledger.setEnds(keyOf(session.socket), { close: () => session.close() });
    limitSession(session, clock, limits);
  });
  server.on('tlsClientError', (err, socket) => {
    logger.debug({ err, remoteAddress: remoteAddressOf(socket) }, 'TLS handshake failed');
  });
  server.on('sessionError', (err) => logger.debug({ err }, 'HTTP/2 connection failed'));
}

/** Reports the bytes of HTTP/1.1 request heads to the ledger while the heads arrive. */
function countHeads(server: Http2SecureServer, ledger: ConnectionLedger): void {
  const counters = new WeakMap<Socket, (chunk: Buffer) => void>();
  // The HTTP/1.1 listener must get the connection before the `data` listener below is added. In the opposite order,
  // the HTTP/1.1 parser would read the socket directly, and the bytes would not be counted.
  server.on('secureConnection', (socket: TLSSocket) => {
    if (socket.alpnProtocol === 'h2') return;
    const key = keyOf(socket);
    // The heads of further requests are counted too, because a stranger may send them before the first is answered.
    // Bodies of strangers are not read.
    const count = (chunk: Buffer): void => ledger.receivedPiece(key, chunk.length);
    counters.set(socket, count);
    socket.on('data', count);
  });
  server.on('upgrade', (_request: unknown, socket: Socket) => {
    const count = counters.get(socket);
    if (count !== undefined) socket.off('data', count);
  });
}

/**
 * Destroys an HTTP/2 connection when its client ends its side, as Go's server does (`x/net/http2/server.go:
 * processFrameFromReader`). Half-open connections are for HTTP/1.1 upgrades only. A half-open HTTP/2 connection would
 * keep its file descriptor until the process exits.
 */
function destroyAtEnd(socket: TLSSocket): void {
  socket.once('end', () => socket.destroy());
}

/** Closes an idle HTTP/2 connection, and destroys a closed one if its client keeps it open. */
function limitSession(
  session: ServerHttp2Session,
  clock: Pick<Clock, 'setTimer'>,
  { idleMs, lingerMs }: SessionLimits,
): void {
  // The socket must be read now, because a destroyed session no longer returns its socket.
  const { socket } = session;
  const destroy = socket.destroy.bind(socket);
  let streams = 0;
  let late: Timer | undefined;
  const expectEnd = (): void => {
    if (streams > 0 || !session.closed || late !== undefined) return;
    late = clock.setTimer(lingerMs, destroy);
  };
  session.once('close', () => late?.cancel());
  session.on('stream', (stream) => {
    streams++;
    stream.once('close', () => {
      streams--;
      expectEnd();
      if (streams === 0 && !session.destroyed) session.setTimeout(idleMs);
    });
  });
  session.setTimeout(idleMs);
  // Listens to every timeout and not only to the first, which may come while a stream is open but silent.
  session.on('timeout', () => {
    if (streams > 0) return;
    session.close();
    expectEnd();
  });
  // When Node.js emits this event, it has already closed the session.
  session.on('goaway', expectEnd);
}

/**
 * Clears OpenSSL's error queue after a client certificate failed verification. The handshake continues in that case,
 * because access control decides later. But the error stays in the queue, and the next read of the connection would
 * report it and break the connection. Parsing a certificate clears the queue; Node.js has no other function that does.
 */
function clearHandshakeErrors(socket: TLSSocket): void {
  const { raw } = socket.getPeerCertificate();
  if (raw !== undefined) new X509Certificate(raw);
}
