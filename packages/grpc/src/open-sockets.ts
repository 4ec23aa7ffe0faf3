import type { Socket } from 'node:net';

/** Tracks open sockets, so that they can be closed together. */
export class OpenSockets {
  readonly #maxSockets: number;
  /**
   * The number of bytes that each socket had received at its last check. The first entry is the next candidate for
   * closing.
   */
  readonly #open = new Map<Socket, number>();
  #isClosed = false;

  /**
   * @param maxSockets beyond this limit, a new socket replaces a socket that has received nothing since its last check,
   * or the oldest
   */
  constructor(maxSockets: number = Number.POSITIVE_INFINITY) {
    this.#maxSockets = maxSockets;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Tracks a socket until it closes. After {@link close}, the socket is destroyed. */
  add(socket: Socket): void {
    if (this.#isClosed) socket.destroy();
    if (this.#open.size >= this.#maxSockets) this.#destroySilent();
    this.#open.set(socket, socket.bytesRead);
    socket.once('close', () => this.#open.delete(socket));
  }

  /** Destroys all tracked sockets. Sockets that are added later are destroyed immediately. */
  close(): void {
    this.#isClosed = true;
    for (const socket of this.#open.keys()) socket.destroy();
  }

  /**
   * Destroys the first socket that has received nothing since its last check, or the first one if all have received
   * data. Checked sockets move to the end of the order.
   */
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
