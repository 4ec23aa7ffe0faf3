import type { OnReadOpts } from 'node:net';
import { ResettingSocket } from './socket.ts';

/** Callbacks of a {@link PlainSocket}. */
export interface SocketUser {
  onConnect(): void;
  /**
   * Called with received bytes. The buffer is shared between sockets: the callee must not keep a reference to the
   * buffer.
   */
  onBytes(bytes: Buffer): void;
  /** Called when the peer has closed its sending side. */
  onEnd(): void;
  onError(error: Error): void;
}

/** Maximum number of idle sockets that are kept for reuse. */
const MAX_IDLE = 32;
const idle: PlainSocket[] = [];

/** Read buffer shared by all plain sockets. A callee may use the buffer's content only until the callee returns. */
let readBuffer: Buffer | undefined;

/**
 * Socket object that can be reused. After its connection was reset, the object connects again for another request.
 * Creating the object costs more than everything else this package does for a probe. A socket whose connection ended in
 * any other way than by this side's reset is not reused.
 */
export class PlainSocket extends ResettingSocket {
  user: SocketUser | undefined;
  /**
   * Whether the socket may be reused: no error occurred, the peer did not end the connection, and no bytes are unsent.
   */
  #isSound = true;

  private constructor(onread: OnReadOpts) {
    super({ onread });
    this.on('connect', () => this.user?.onConnect());
    this.on('end', () => {
      this.#isSound = false;
      this.user?.onEnd();
    });
    this.on('error', (error) => this.user?.onError(error));
    this.on('close', () => this.#closed());
  }

  /** Returns an unconnected socket without a user. */
  static take(): PlainSocket {
    const known = idle.pop();
    if (known !== undefined) return known;
    readBuffer ??= Buffer.allocUnsafeSlow(64 * 1024);
    const socket: PlainSocket = new PlainSocket({
      buffer: readBuffer,
      callback(size, buffer) {
        socket.user?.onBytes((buffer as Buffer).subarray(0, size));
        return true;
      },
    });
    return socket;
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    // A socket that is still connecting cannot be reset.
    if (error !== null || this.pending || this.writableLength > 0) this.#isSound = false;
    super._destroy(error, callback);
  }

  #closed(): void {
    this.user = undefined;
    if (!this.#isSound || idle.length >= MAX_IDLE) return;
    this.isResetting = false;
    idle.push(this);
  }
}
