/** Writes a protobuf message field by field. As in proto3, values that are 0 or empty are left out. */
export class ProtoWriter {
  readonly #bytes: number[] = [];

  /** Writes an int64, a uint64 or a bool: an integer, exact up to 2^53. */
  number(field: number, value: number): void {
    if (value === 0) return;
    this.#varint(field * 8);
    this.#varint(value);
  }

  /** Writes packed repeated numbers; zeros are kept. */
  packed(field: number, values: readonly number[]): void {
    const inner = new ProtoWriter();
    for (const value of values) inner.#varint(value);
    this.#delimited(field, inner.#bytes);
  }

  message(field: number, write: (inner: ProtoWriter) => void): void {
    const inner = new ProtoWriter();
    write(inner);
    this.#delimited(field, inner.#bytes);
  }

  /** Writes a string as one element of a repeated field. Empty strings are written too. */
  text(field: number, value: string): void {
    this.#delimited(field, Buffer.from(value.toWellFormed()));
  }

  bytes(): Uint8Array {
    return Uint8Array.from(this.#bytes);
  }

  #delimited(field: number, bytes: Iterable<number> & { readonly length: number }): void {
    this.#varint(field * 8 + 2);
    this.#varint(bytes.length);
    for (const byte of bytes) this.#bytes.push(byte);
  }

  #varint(value: number): void {
    // Protobuf encodes a negative number as its 64-bit two's complement.
    let rest = BigInt.asUintN(64, BigInt(Math.trunc(value)));
    for (; rest > 0x7fn; rest >>= 7n) this.#bytes.push(Number(rest & 0x7fn) | 0x80);
    this.#bytes.push(Number(rest));
  }
}
