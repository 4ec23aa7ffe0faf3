import { isIP, type OnReadOpts, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { NameLookup } from './name-lookup.ts';

/** A connection and how to be rid of it. */
export interface OpenSocket {
  /** What is read and written: the bare connection, or TLS on top of it. */
  readonly stream: Duplex;
  readonly socket: Socket;
  /** `127.0.0.1:4000->10.0.0.5:80`; '' before it is connected. */
  ends(): string;
  /** Ends it by a reset, so that neither end stays in TIME_WAIT (R3). What errors come then are nobody's, and end no process. */
  reset(): void;
}

/**
 * A connection that is only ever ended by a reset, whoever ends it: an orderly end leaves one side in TIME_WAIT for a minute, and a
 * node probes its pods many times a second. What was sent has been answered by then, so that nothing is lost.
 */
class ResettingSocket extends Socket {
  isResetting = false;

  /** Whoever is done with writing sends no FIN. */
  override _final(callback: () => void): void {
    callback();
  }

  override destroy(error?: Error): this {
    // Node waits with a reset for a connection that is being made: it may be made never.
    if (this.isResetting || this.pending || this.destroyed || error !== undefined) return super.destroy(error);
    this.isResetting = true;
    return this.resetAndDestroy();
  }
}

/** For all connections: what is asked of the C library is the process's. */
const names: NameLookup = new NameLookup();

/** What plain connections are read into: whoever is given it is done with it when he returns. */
let readBuffer: Buffer | undefined;

/** Where to connect to, and what to do there. */
export interface SocketTarget {
  readonly host: string;
  readonly port: number;
  readonly tls?: boolean;
  /** Is given what is read, in a buffer that all connections share: nothing of it may be held. Without it `stream` is to be read. */
  readonly onBytes?: (bytes: Buffer) => void;
  /** What is sent first, one byte a character. */
  readonly head?: string;
}

/** Begins to connect. The certificate of a TLS server is not looked at, as upstream's probes do not. */
export function openSocket({ host, port, tls, onBytes, head }: SocketTarget): OpenSocket {
  const socket = new ResettingSocket(tls || onBytes === undefined ? undefined : { onread: readsInto(onBytes) });
  socket.connect({ host, port, lookup: names.lookup });
  const stream: Duplex = tls ? tlsOver(socket, host) : socket;
  if (tls && onBytes !== undefined) stream.on('data', onBytes);
  let ends = '';
  // A write that waits for a connection costs listeners of its own.
  socket.on('connect', () => {
    ends = `${address(socket.localAddress, socket.localPort)}->${address(socket.remoteAddress, socket.remotePort)}`;
    if (head !== undefined) stream.write(head, 'latin1');
  });
  return {
    stream,
    socket,
    ends: () => ends,
    reset() {
      socket.on('error', ignore);
      if (stream !== socket) stream.on('error', ignore).destroy();
      socket.destroy();
    },
  };
}

function ignore(): void {}

function readsInto(onBytes: (bytes: Buffer) => void): OnReadOpts {
  readBuffer ??= Buffer.allocUnsafeSlow(64 * 1024);
  return {
    buffer: readBuffer,
    callback(size, buffer) {
      onBytes((buffer as Buffer).subarray(0, size));
      return true;
    },
  };
}

function tlsOver(socket: Socket, host: string): Duplex {
  const stream = connectTls({ socket, rejectUnauthorized: false, ...(isIP(host) === 0 && { servername: host }) });
  // As the connection below it: no FIN, nor what TLS says before one.
  stream._final = (callback) => callback();
  return stream;
}

function address(host: string | undefined, port: number | undefined): string {
  return host?.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
