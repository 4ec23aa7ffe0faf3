import type { OnReadOpts } from 'node:net';
import { ResettingSocket } from './socket.ts';

/** Who is told of a {@link PlainSocket}. */
export interface SocketUser {
  onConnect(): void;
  /** In a buffer that others share: nothing of it may be held. */
  onBytes(bytes: Buffer): void;
  /** The other end sends no more. */
  onEnd(): void;
  onError(error: Error): void;
}

/** So many wait to be connected anew. */
const MAX_IDLE = 32;
const idle: PlainSocket[] = [];

/** What plain connections are read into: whoever is given it is done with it when he returns. */
let readBuffer: Buffer | undefined;

/**
 * A connection that is reset by whoever is done with it, and then connects anew for somebody else: to make the object that stands for it costs more
 * than all else that is done here for a probe. One that came to another end than this is not used again.
 */
export class PlainSocket extends ResettingSocket {
  user: SocketUser | undefined;
  /** Nothing has come to pass that would not have to every connection. */
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

  /** One that is to be connected; it has no user. */
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
    // One that is still being made has nothing that could be reset.
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
