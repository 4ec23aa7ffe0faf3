const MAX_VARINT_BYTES = 10;

/** Reads the protobuf wire format. Every method throws `RangeError` if the data is truncated or malformed. */
export class Reader {
  readonly #bytes: Buffer;
  /** The position of the next byte. */
  pos = 0;
  /** The position after the last byte. */
  readonly end: number;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.end = bytes.length;
  }

  /** Reads an unsigned 32-bit number. If the number is longer, its higher bits are dropped. */
  uint32(): number {
    // Most values are tags and lengths of one byte.
    const first = this.#bytes[this.pos];
    if (first !== undefined && first < 0x80) {
      this.pos++;
      return first;
    }
    let value = 0;
    for (let shift = 0; shift < 7 * MAX_VARINT_BYTES; shift += 7) {
      const byte = this.#byte();
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw new RangeError(`a number of more than ${MAX_VARINT_BYTES} bytes ends at ${this.pos}`);
  }

  int32(): number {
    return this.uint32() | 0;
  }

  bool(): boolean {
    return this.#varint64((lo, hi) => lo !== 0 || hi !== 0);
  }

  /** Reads a signed 64-bit number. Numbers beyond 2^53 are rounded. */
  int64(): number {
    return this.#varint64(signed);
  }

  /** Reads an unsigned 64-bit number. Numbers beyond 2^53 are rounded. */
  uint64(): number {
    return this.#varint64(unsigned);
  }

  /** Reads a signed 64-bit number exactly. */
  bigInt64(): bigint {
    return this.#varint64((lo, hi) => BigInt.asIntN(64, wide(lo, hi)));
  }

  /** Reads an unsigned 64-bit number exactly. */
  bigUint64(): bigint {
    return this.#varint64(wide);
  }

  double(): number {
    return this.#bytes.readDoubleLE(this.#advance(8));
  }

  string(): string {
    const length = this.uint32();
    const start = this.#advance(length);
    return this.#bytes.toString('utf8', start, this.pos);
  }

  /** Reads a byte field as a copy, so that a message that is kept does not keep the whole receive buffer alive. */
  bytes(): Uint8Array {
    const length = this.uint32();
    const start = this.#advance(length);
    return new Uint8Array(this.#bytes.subarray(start, this.pos));
  }

  /** Reads a length. Returns the position of the end of the value that follows the length. */
  endOfNext(): number {
    const length = this.uint32();
    const end = this.pos + length;
    if (end > this.end) throw tooShort(this.pos, length, this.end);
    return end;
  }

  /** Skips the value of an unknown field. */
  skip(tag: number): void {
    const wireType = tag & 7;
    if (wireType === 0) this.uint32();
    else if (wireType === 1) this.#advance(8);
    else if (wireType === 2) this.pos = this.endOfNext();
    else if (wireType === 5) this.#advance(4);
    else throw new RangeError(`wire type ${wireType} at ${this.pos} does not exist in proto3`);
  }

  #byte(): number {
    const byte = this.#bytes[this.pos];
    if (byte === undefined) throw tooShort(this.pos, 1, this.end);
    this.pos++;
    return byte;
  }

  #advance(length: number): number {
    const start = this.pos;
    if (start + length > this.end) throw tooShort(start, length, this.end);
    this.pos = start + length;
    return start;
  }

  #varint64<T>(make: (lo: number, hi: number) => T): T {
    let low28 = 0;
    let middle28 = 0;
    let high8 = 0;
    for (let i = 0; i < MAX_VARINT_BYTES; i++) {
      const byte = this.#byte();
      const bits = byte & 0x7f;
      if (i < 4) low28 |= bits << (7 * i);
      else if (i < 8) middle28 |= bits << (7 * (i - 4));
      else high8 |= bits << (7 * (i - 8));
      if (byte < 0x80) return make((low28 | (middle28 << 28)) >>> 0, ((middle28 >>> 4) | (high8 << 24)) >>> 0);
    }
    throw new RangeError(`a number of more than ${MAX_VARINT_BYTES} bytes ends at ${this.pos}`);
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A reader that rejects text that is not UTF-8. */
export class StrictReader extends Reader {
  override string(): string {
    const bytes = this.bytes();
    try {
      return utf8.decode(bytes);
    } catch (cause) {
      throw new RangeError(`a text that ends at ${this.pos} is not UTF-8`, { cause });
    }
  }
}

function unsigned(lo: number, hi: number): number {
  return hi * 2 ** 32 + lo;
}

function wide(lo: number, hi: number): bigint {
  return (BigInt(hi) << 32n) | BigInt(lo);
}

function signed(lo: number, hi: number): number {
  if (hi >>> 31 === 0) return unsigned(lo, hi);
  return -((~hi >>> 0) * 2 ** 32 + (~lo >>> 0) + 1);
}

function tooShort(pos: number, length: number, end: number): RangeError {
  return new RangeError(`${length} bytes at ${pos} reach past the end at ${end}`);
}
