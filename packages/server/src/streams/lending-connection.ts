import { connect, type Socket, type TcpNetConnectOpts } from 'node:net';

/** Takes what was read. It is written over once `giveBack` is called. */
export type Borrower = (chunk: Buffer, giveBack: () => void) => void;

/** Of a connection on which little is said. */
const SMALL_BYTES = 4 * 1024;
const LARGE_BYTES = 64 * 1024;
/** So many are with the borrower at most; until one is given back nothing is read. */
const MOST_LENT = 2;
/** Large ones that nobody uses, of all connections together. */
const MOST_SPARE = 16;
const spare: Buffer[] = [];

/**
 * A connection that reads into the same few buffers again and again. Memory that is taken anew for each read lies outside of
 * the collector's heap and drives it all the same: of a stream that carries much, half the time goes into collecting. Until
 * somebody borrows, it is a socket like others.
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

  /** From now on what comes is lent; nobody may listen for `data` then. */
  lend(borrower: Borrower): void {
    for (let chunk = this.socket.read(); chunk !== null; chunk = this.socket.read()) borrower(chunk, () => {});
    this.#borrower = borrower;
    // Its end is told to those only who let it flow.
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

  /** @returns whether more is to be read now */
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
