import type { Http2SecureServer } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Logger } from '@node-agent/telemetry';
import { keyOf, remoteAddressOf } from '../http/request-socket.ts';
import type { ConnectionLedger } from './connection-ledger.ts';

/** Enters all connections of a server into its ledger, and ends those of HTTP/2 that are idle for `idleMs`. */
export function trackConnections(
  server: Http2SecureServer,
  ledger: ConnectionLedger,
  logger: Logger,
  idleMs: number,
): void {
  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket);
    ledger.opened(key, { destroy: () => socket.destroy() });
    socket.once('close', () => ledger.closed(key));
  });
  // HTTP/2 looks at the connection after this: what it says of its end stays.
  server.prependListener('secureConnection', (socket: TLSSocket) => {
    ledger.setEnds(keyOf(socket), { destroy: () => socket.destroy() });
  });
  server.on('session', (session) => {
    // Only that: a session that has said its last word has no hold any more of a client who does not go.
    ledger.setEnds(keyOf(session.socket), { close: () => session.close() });
    let streams = 0;
    session.on('stream', (stream) => {
      streams++;
      stream.once('close', () => {
        streams--;
        if (streams === 0 && !session.destroyed) session.setTimeout(idleMs);
      });
    });
    session.setTimeout(idleMs);
    // Each time, not the first alone: a stream may have been silent then.
    session.on('timeout', () => {
      if (streams === 0) session.close();
    });
  });
  server.on('tlsClientError', (err, socket) => {
    logger.debug({ err, remoteAddress: remoteAddressOf(socket) }, 'TLS handshake failed');
  });
  server.on('sessionError', (err) => logger.debug({ err }, 'HTTP/2 connection failed'));
}
