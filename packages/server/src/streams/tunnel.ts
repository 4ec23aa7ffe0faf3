import { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';

/**
 * The bytes that are told in the binary messages of a WebSocket, in whatever pieces, as a connection of its own
 * (`k8s.io/client-go/tools/portforward/tunneling_connection.go`). A WebSocket has no half-closing: its end is that of both
 * directions. A message of text breaks it off.
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
      if (!isBinary) this.destroy(new Error('a message of text'));
      else if (!this.push(data)) socket.pause();
    });
    socket.on('close', () => {
      this.#hasHeardEnd = true;
      this.push(null);
      // What came before is read still.
      if (this.readableEnded) this.destroy();
      else this.once('end', () => this.destroy());
    });
  }

  /** Asks a client that is not listened to whether it is there: that it has gone is heard of by nothing else. */
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
    // The answer to that is waited for, whether or not anybody reads what comes before it.
    this.#hasHeardEnd = true;
    if (this.#socket.isPaused) this.#socket.resume();
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (this.#socket.readyState !== this.#socket.CLOSED) this.#socket.terminate();
    done(error);
  }
}
