import type { Socket } from 'node:net';

/** The sockets that are open, to be ended together. */
export class OpenSockets {
  readonly #open = new Set<Socket>();
  #isClosed = false;

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Follows a socket to its end, which comes at once where all have been ended. */
  add(socket: Socket): void {
    if (this.#isClosed) socket.destroy();
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
  }

  /** Ends those that there are, and those that come from now on. */
  close(): void {
    this.#isClosed = true;
    for (const socket of this.#open) socket.destroy();
  }
}
