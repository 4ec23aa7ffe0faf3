const NEWLINE = 0x0a;

/** A line of a file, or, where it is longer than anybody should hold in memory, a piece of it. */
export interface LinePiece {
  /** With the newline, where the line ends in one. */
  readonly bytes: Uint8Array;
  readonly startsLine: boolean;
  readonly endsLine: boolean;
}

/** Cuts a stream of bytes into lines, which are views of the chunks. Holds no more than `maxPieceBytes` and one chunk. */
export class LineSplitter {
  readonly #maxPieceBytes: number;
  #held: Uint8Array = new Uint8Array();
  #startsLine = true;

  /** @param maxPieceBytes from which length on the beginning of a line is given without waiting for its end */
  constructor(maxPieceBytes: number) {
    this.#maxPieceBytes = maxPieceBytes;
  }

  /** Takes the next bytes; gives the lines that end in them. */
  *push(chunk: Uint8Array): Generator<LinePiece, void, undefined> {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      yield this.#take(chunk.subarray(start, end + 1), true);
      start = end + 1;
    }
    const rest = chunk.subarray(start);
    if (this.#held.length + rest.length >= this.#maxPieceBytes) yield this.#take(rest, false);
    else if (rest.length > 0) this.#held = concat(this.#held, rest);
  }

  /** Gives what the last line has without its newline. */
  *end(): Generator<LinePiece, void, undefined> {
    if (this.#held.length > 0 || !this.#startsLine) yield this.#take(new Uint8Array(), true);
  }

  #take(bytes: Uint8Array, endsLine: boolean): LinePiece {
    const held = this.#held;
    const piece = {
      bytes: held.length === 0 ? bytes : concat(held, bytes),
      startsLine: this.#startsLine,
      endsLine,
    };
    if (held.length > 0) this.#held = new Uint8Array();
    this.#startsLine = endsLine;
    return piece;
  }
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  const joined = new Uint8Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
}
