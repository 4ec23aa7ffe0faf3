import type { Socket } from 'node:net';

/** The sockets that are open, to be ended together. */
export class OpenSockets {
  readonly #maxSockets: number;
  /** How many bytes were read from each by the time that it was last looked at, the first to lose its place first. */
  readonly #open = new Map<Socket, number>();
  #isClosed = false;

  /** @param maxSockets a socket beyond them takes the place of one that has been silent since it was last looked at */
  constructor(maxSockets: number = Number.POSITIVE_INFINITY) {
    this.#maxSockets = maxSockets;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Follows a socket to its end, which comes at once where all have been ended. */
  add(socket: Socket): void {
    if (this.#isClosed) socket.destroy();
    if (this.#open.size >= this.#maxSockets) this.#destroySilent();
    this.#open.set(socket, socket.bytesRead);
    socket.once('close', () => this.#open.delete(socket));
  }

  /** Ends those that there are, and those that come from now on. */
  close(): void {
    this.#isClosed = true;
    for (const socket of this.#open.keys()) socket.destroy();
  }

  /** Destroys the first socket from which nothing was read since it was last looked at; others get a new place at the end. */
  #destroySilent(): void {
    for (const [socket, bytesRead] of [...this.#open]) {
      this.#open.delete(socket);
      if (socket.bytesRead === bytesRead) {
        socket.destroy();
        return;
      }
      this.#open.set(socket, socket.bytesRead);
    }
    const [oldest] = this.#open.keys();
    if (oldest === undefined) return;
    this.#open.delete(oldest);
    oldest.destroy();
  }
}
