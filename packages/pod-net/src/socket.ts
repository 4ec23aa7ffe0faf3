import { isIPv4, type OnReadOpts, Socket } from 'node:net';

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
  /** `127.0.0.1:4000`, noted when the connection breaks: nobody asks for it before, and then it is gone. */
  ownEnd: string | undefined;

  /** Whoever is done with writing sends no FIN. */
  override _final(callback: () => void): void {
    callback();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (error !== null && !this.pending) this.ownEnd = address(this.localAddress, this.localPort);
    super._destroy(error, callback);
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

/**
 * `127.0.0.1:4000->10.0.0.5:80`, for the errors of a connection that was made to `host`. Of an address of IPv4 the system is asked
 * for nothing before there is an error.
 */
export function endsOf(socket: Socket, host: string, port: number): () => string {
  // The system forgets the other end when the connection breaks. An address of IPv4 has one way to be written.
  const peer = isIPv4(host) ? address(host, port) : address(socket.remoteAddress, socket.remotePort);
  return () => {
    const own = socket instanceof ResettingSocket ? socket.ownEnd : undefined;
    return `${own ?? address(socket.localAddress, socket.localPort)}->${peer}`;
  };
}

/** For the errors of what nobody waits for any more. */
export function ignore(): void {}

function address(host: string | undefined, port: number | undefined): string {
  return host?.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
