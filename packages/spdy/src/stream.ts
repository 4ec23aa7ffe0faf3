import { Duplex } from 'node:stream';
import { SpdyError } from './errors.ts';
import type { SpdyHeaders } from './header-block.ts';

/** What a stream does to its connection. */
export interface StreamWire {
  /** Says these pieces, one after another. Calls `done` when the connection takes more. */
  say(data: readonly Uint8Array[], isLast: boolean, done: (error?: Error | null) => void): void;
  reset(): void;
  /** Neither end says anything any more. */
  forget(): void;
}

/** One stream of a connection: half closed by `end()`, reset by `destroy()` before both ends have ended. */
export interface SpdyStream extends Duplex {
  readonly id: number;
  /** What the one who opened it said of it. */
  readonly headers: SpdyHeaders;
}

/** What is larger is not copied. */
const SMALL_BYTES = 1024;

/** A stream, as its connection has it. */
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
    // A reset is how a stream ends as often as not; whoever reads it sees the end.
    this.on('error', () => {});
  }

  /** What the other end says; resolves when more is wanted. */
  hear(data: Buffer): Promise<void> {
    if (this.destroyed || this.#hasHeardEnd || data.length === 0) return Promise.resolve();
    if (this.push(data) || this.#isHurried) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wanted = resolve;
    });
  }

  /** What is heard from now on waits for no reader. */
  hurry(): void {
    this.#isHurried = true;
    this.#wake();
  }

  hearEnd(): void {
    if (this.destroyed || this.#hasHeardEnd) return;
    this.#hasHeardEnd = true;
    this.push(null);
  }

  /** The other end wants no more of this stream, or the connection is gone: what came before can be read still. */
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
    // Many small ones would be a frame, and a write, each.
    const said = size < pieces.length * SMALL_BYTES ? [Buffer.concat(pieces)] : pieces;
    if (this.#isReset) done(new SpdyError('Reset', 'the stream was reset'));
    else this.#wire.say(said, false, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.#isReset) done();
    // That nobody hears of the end is no failure: what came before can be read still.
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
