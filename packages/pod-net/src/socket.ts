import { type OnReadOpts, Socket } from 'node:net';

/** A connection and how to be rid of it. */
export interface OpenSocket {
  readonly socket: Socket;
  /** Ends it by a reset, so that neither end stays in TIME_WAIT (R3). What errors come then are nobody's, and end no process. */
  reset(): void;
}

/**
 * A connection that is only ever ended by a reset, whoever ends it: an orderly end leaves one side in TIME_WAIT for a minute, and a
 * node probes its pods many times a second. What was sent has been answered by then, so that nothing is lost.
 */
export class ResettingSocket extends Socket {
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

/** Begins to connect to an address. */
export function openSocket(target: { readonly host: string; readonly port: number }): OpenSocket {
  const socket = new ResettingSocket();
  socket.connect(target);
  return { socket, reset: () => void socket.on('error', ignore).destroy() };
}

/** What plain connections are read into: whoever is given it is done with it when he returns. */
let readBuffer: Buffer | undefined;

/** A connection whose bytes are given away in a buffer that all of these share: nothing of it may be held. */
export function readingSocket(onBytes: (bytes: Buffer) => void): ResettingSocket {
  readBuffer ??= Buffer.allocUnsafeSlow(64 * 1024);
  const onread: OnReadOpts = {
    buffer: readBuffer,
    callback(size, buffer) {
      onBytes((buffer as Buffer).subarray(0, size));
      return true;
    },
  };
  return new ResettingSocket({ onread });
}

/** `127.0.0.1:4000->10.0.0.5:80` */
export function endsOf(socket: Socket): string {
  return `${address(socket.localAddress, socket.localPort)}->${address(socket.remoteAddress, socket.remotePort)}`;
}

/** For the errors of what nobody waits for any more. */
export function ignore(): void {}

function address(host: string | undefined, port: number | undefined): string {
  return host?.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
