import { isIP, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';

/** A connection and how to be rid of it. */
export interface OpenSocket {
  /** What is read and written: the bare connection, or TLS on top of it. */
  readonly stream: Duplex;
  readonly socket: Socket;
  /** `127.0.0.1:4000->10.0.0.5:80`; '' before it is connected. */
  ends(): string;
  /** Ends it by a reset, so that neither end stays in TIME_WAIT (R3). Its errors are nobody's any more. */
  reset(): void;
}

/**
 * A connection that is only ever ended by a reset, whoever ends it: an orderly end leaves one side in TIME_WAIT for a minute, and a
 * node probes its pods many times a second. What was sent has been answered by then, so that nothing is lost.
 */
class ResettingSocket extends Socket {
  #connected = false;
  #resetting = false;

  constructor() {
    super();
    this.once('connect', () => {
      this.#connected = true;
    });
  }

  /** Whoever is done with writing sends no FIN. */
  override _final(callback: () => void): void {
    callback();
  }

  override destroy(error?: Error): this {
    // Node waits with a reset for a connection that is being made: it may be made never.
    if (this.#resetting || !this.#connected || this.destroyed || error !== undefined) return super.destroy(error);
    this.#resetting = true;
    return this.resetAndDestroy();
  }
}

/** Begins to connect. The certificate of a TLS server is not looked at, as upstream's probes do not. */
export function openSocket({ host, port, tls }: { host: string; port: number; tls?: boolean }): OpenSocket {
  const socket = new ResettingSocket();
  socket.connect({ host, port });
  const stream = tls ? tlsOver(socket, host) : socket;
  let ends = '';
  socket.once('connect', () => {
    ends = `${address(socket.localAddress, socket.localPort)}->${address(socket.remoteAddress, socket.remotePort)}`;
  });
  return {
    stream,
    socket,
    ends: () => ends,
    reset() {
      for (const each of [stream, socket]) each.removeAllListeners('error').on('error', () => {});
      stream.destroy();
      socket.destroy();
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
