import { isIPv4, Socket } from 'node:net';

/** Connection with a function that resets it. */
export interface OpenSocket {
  readonly socket: Socket;
  /**
   * Closes the connection with a reset, so that neither end stays in TIME_WAIT (R3). Errors after the call are ignored
   * and do not end the process.
   */
  reset(): void;
}

/**
 * Socket that always ends with a reset. An orderly close leaves one end in TIME_WAIT for a minute, and a node probes
 * its pods many times a second. No data is lost: when the connection is reset, the peer has answered everything that
 * was sent.
 */
export class ResettingSocket extends Socket {
  isResetting = false;
  /**
   * Local address as `127.0.0.1:4000`. Saved when the connection breaks, because the system forgets the address then.
   */
  ownEnd: string | undefined;

  /** Called when writing ends. Sends no FIN. */
  override _final(callback: () => void): void {
    callback();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (error !== null && !this.pending) this.ownEnd = address(this.localAddress, this.localPort);
    super._destroy(error, callback);
  }

  override destroy(error?: Error): this {
    // For a socket that is still connecting, Node defers the reset until the connection is established, which may never
    // happen.
    if (this.isResetting || this.pending || this.destroyed || error !== undefined) return super.destroy(error);
    this.isResetting = true;
    return this.resetAndDestroy();
  }
}

/** Starts to connect to an address. */
export function openSocket(target: { readonly host: string; readonly port: number }): OpenSocket {
  const socket = new ResettingSocket();
  socket.connect(target);
  return { socket, reset: () => void socket.on('error', ignore).destroy() };
}

/**
 * Returns the remote address of a connection to `host` as the system reports it. The address must be read while the
 * connection is open, because the system forgets it when the connection breaks. Returns `undefined` for an IPv4
 * address, which has only one notation.
 */
export function farEnd(socket: Socket, host: string): string | undefined {
  return isIPv4(host) ? undefined : address(socket.remoteAddress, socket.remotePort);
}

/** Formats both ends as `127.0.0.1:4000->10.0.0.5:80`, for error messages. */
export function endsOf(socket: Socket, far: string): string {
  const own = socket instanceof ResettingSocket ? socket.ownEnd : undefined;
  return `${own ?? address(socket.localAddress, socket.localPort)}->${far}`;
}

/** Error listener that does nothing, for sockets that are no longer used. */
export function ignore(): void {}

/** Formats an address and port of the system as `host:port`, with brackets around an IPv6 address. */
export function address(host: string | undefined, port: number | undefined): string {
  return host?.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
