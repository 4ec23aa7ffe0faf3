import { Duplex } from 'node:stream';
import { SpdyError } from './errors.ts';
import type { SpdyHeaders } from './header-block.ts';

/** Calls that a stream makes on its connection. */
export interface StreamWire {
  /** Sends pieces of data in order. Calls `done` when the connection accepts more. */
  say(data: readonly Uint8Array[], isLast: boolean, done: (error?: Error | null) => void): void;
  reset(): void;
  /** Removes the stream from the connection when both ends have finished. */
  forget(): void;
}

/** One stream of a connection. `end()` half-closes it; `destroy()` resets it if either end has not finished. */
export interface SpdyStream extends Duplex {
  readonly id: number;
  /** Headers that the opener of the stream sent. */
  readonly headers: SpdyHeaders;
}

/** Average size of pieces below which they are copied into one frame. */
const SMALL_BYTES = 1024;

/** The connection's side of a stream. */
export class ConnectionStream extends Duplex implements SpdyStream {
  readonly id: number;
  readonly headers: SpdyHeaders;
  readonly #wire: StreamWire;
  #isReset = false;
  #hasHeardEnd = false;
  #isHurried = false;
  #wanted: (() => void) | undefined;

  constructor(id: number, headers: SpdyHeaders, wire: StreamWire) {
    super({ allowHalfOpen: true });
    this.id = id;
    this.headers = headers;
    this.#wire = wire;
    // Streams often end with a reset, which must not be an unhandled error. A reader sees the end of the stream.
    this.on('error', () => {});
  }

  /** Passes received data on to the reader. Resolves when the reader wants more. */
  hear(data: Buffer): Promise<void> {
    if (this.destroyed || this.#hasHeardEnd || data.length === 0) return Promise.resolve();
    if (this.push(data) || this.#isHurried) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wanted = resolve;
    });
  }

  /** Stops waiting for the reader: received data is buffered from now on. */
  hurry(): void {
    this.#isHurried = true;
    this.#wake();
  }

  hearEnd(): void {
    if (this.destroyed || this.#hasHeardEnd) return;
    this.#hasHeardEnd = true;
    this.push(null);
  }

  /**
   * Handles a reset by the other end, or the end of the connection. Data that was received before can still be read.
   */
  hearReset(): void {
    this.#isReset = true;
    if (this.readableEnded) this.destroy();
    else {
      this.hearEnd();
      this.once('end', () => this.destroy());
    }
    this.#wake();
  }

  override _read(): void {
    this.#wake();
  }

  override _write(chunk: Uint8Array, _encoding: string, done: (error?: Error | null) => void): void {
    if (this.#isReset) done(new SpdyError('Reset', 'the stream was reset'));
    else this.#wire.say([chunk], false, done);
  }

  override _writev(chunks: readonly { readonly chunk: Uint8Array }[], done: (error?: Error | null) => void): void {
    const pieces = chunks.map(({ chunk }) => chunk);
    const size = pieces.reduce((sum, { length }) => sum + length, 0);
    // Joins many small pieces, because each piece would be a frame and a write of its own.
    const said = size < pieces.length * SMALL_BYTES ? [Buffer.concat(pieces)] : pieces;
    if (this.#isReset) done(new SpdyError('Reset', 'the stream was reset'));
    else this.#wire.say(said, false, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.#isReset) done();
    // An error of a closed connection is ignored, because data that was received before can still be read.
    else this.#wire.say([new Uint8Array()], true, () => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const isOver = this.#isReset || (this.readableEnded && this.writableFinished);
    if (!isOver) this.#wire.reset();
    this.#wire.forget();
    this.#wake();
    done(error);
  }

  #wake(): void {
    this.#wanted?.();
    this.#wanted = undefined;
  }
}
