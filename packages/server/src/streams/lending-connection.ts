import { connect, type Socket, type TcpNetConnectOpts } from 'node:net';

/** A function that receives a chunk of data. The chunk's buffer may be reused after the function calls `giveBack`. */
export type Borrower = (chunk: Buffer, giveBack: () => void) => void;

/** The buffer size of a connection with little traffic. */
const SMALL_BYTES = 4 * 1024;
const LARGE_BYTES = 64 * 1024;
/** The maximum number of buffers lent at a time. If all are lent, reading pauses. */
const MOST_LENT = 2;
/** The maximum number of unused large buffers that all connections together keep. */
const MOST_SPARE = 16;
const spare: Buffer[] = [];

/**
 * A connection that reads into a few reused buffers. If a new buffer were allocated for each read, garbage collection
 * would take half of the CPU time of a busy stream. Until `lend` is called, the connection is an ordinary socket.
 */
export class LendingConnection {
  readonly socket: Socket;
  #borrower: Borrower | undefined;
  #lent = 0;
  #isLarge = false;
  #small: Buffer | undefined;

  constructor(options: TcpNetConnectOpts) {
    this.socket = connect({
      ...options,
      onread: {
        buffer: () => this.#next(),
        callback: (length, buffer) => this.#hasRead(length, buffer as Buffer),
      },
    });
  }

  /** Passes received chunks to `borrower` from now on. No other code may listen for `data` then. */
  lend(borrower: Borrower): void {
    for (let chunk = this.socket.read(); chunk !== null; chunk = this.socket.read()) borrower(chunk, () => {});
    this.#borrower = borrower;
    // A socket emits `end` only while it flows.
    this.socket.resume();
  }

  #next(): Buffer {
    if (this.#isLarge) return spare.pop() ?? Buffer.allocUnsafeSlow(LARGE_BYTES);
    const small = this.#small ?? Buffer.allocUnsafeSlow(SMALL_BYTES);
    this.#small = undefined;
    return small;
  }

  #free(buffer: Buffer): void {
    if (buffer.length === SMALL_BYTES) this.#small = buffer;
    else if (spare.length < MOST_SPARE) spare.push(buffer);
  }

  /** Passes a received chunk to the borrower, or to the socket's readers. @returns whether to continue reading */
  #hasRead(length: number, buffer: Buffer): boolean {
    const chunk = buffer.subarray(0, length);
    this.#isLarge = length === buffer.length || (this.#isLarge && length > SMALL_BYTES);
    const borrower = this.#borrower;
    if (borrower === undefined) {
      const isMoreWanted = this.socket.push(Buffer.from(chunk));
      this.#free(buffer);
      return isMoreWanted;
    }
    this.#lent++;
    let isLent = true;
    borrower(chunk, () => {
      if (!isLent) return;
      isLent = false;
      this.#free(buffer);
      if (this.#lent-- === MOST_LENT) this.socket.resume();
    });
    if (this.#lent < MOST_LENT) return true;
    this.socket.pause();
    return false;
  }
}
