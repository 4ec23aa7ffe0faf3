import { isIPv4, Socket } from 'node:net';

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

/**
 * The other end of a connection that was made to `host`, where only the system can tell it, which forgets it when the connection breaks;
 * `undefined` for an address of IPv4: it has one way to be written.
 */
export function farEnd(socket: Socket, host: string): string | undefined {
  return isIPv4(host) ? undefined : address(socket.remoteAddress, socket.remotePort);
}

/** `127.0.0.1:4000->10.0.0.5:80`, for the errors of a connection. */
export function endsOf(socket: Socket, far: string): string {
  const own = socket instanceof ResettingSocket ? socket.ownEnd : undefined;
  return `${own ?? address(socket.localAddress, socket.localPort)}->${far}`;
}

/** For the errors of what nobody waits for any more. */
export function ignore(): void {}

/** `host:port`, as the system tells it. */
export function address(host: string | undefined, port: number | undefined): string {
  return host?.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
