import { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';

/**
 * The bytes inside the binary messages of a WebSocket, as a connection
 * (`k8s.io/client-go/tools/portforward/tunneling_connection.go`). A WebSocket cannot be half-closed: closing it ends
 * both directions. A text message breaks the connection.
 */
export class Tunnel extends Duplex {
  readonly #socket: WebSocket;
  #hasHeardEnd = false;

  constructor(socket: WebSocket) {
    super({ allowHalfOpen: true });
    this.#socket = socket;
    this.on('error', () => {});
    socket.on('message', (data: RawData, isBinary: boolean) => {
      if (this.destroyed || this.#hasHeardEnd) return;
      if (!isBinary) this.destroy(new Error('unexpected text message'));
      else if (!this.push(data)) socket.pause();
    });
    socket.on('close', () => {
      this.#hasHeardEnd = true;
      this.push(null);
      // Data received before the close can still be read.
      if (this.readableEnded) this.destroy();
      else this.once('end', () => this.destroy());
    });
  }

  /** Pings a client from which reading is paused. Without a ping, its disconnection would not be noticed. */
  probe(): void {
    if (this.#socket.isPaused && this.#socket.readyState === this.#socket.OPEN) this.#socket.ping();
  }

  override _read(): void {
    if (this.#socket.isPaused) this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(chunk, { binary: true }, done);
    else done(new Error('the WebSocket is closed'));
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.close(1000);
    // Resumes reading for the client's close frame, even if no code reads the data before it.
    this.#hasHeardEnd = true;
    if (this.#socket.isPaused) this.#socket.resume();
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (this.#socket.readyState !== this.#socket.CLOSED) this.#socket.terminate();
    done(error);
  }
}
