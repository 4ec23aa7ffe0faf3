const INITIAL_BYTES = 1024;

/**
 * Maximum length of a text that is first tried as ASCII. The length must be below 128, so that its encoding takes one
 * byte.
 */
const SHORT = 40;

/** Maximum size of a buffer that is kept for the next message, in bytes. */
const KEEP_BYTES = 64 * 1024;

/**
 * Writes the protobuf wire format. One writer is reused for all messages. protobufjs's writer is not used, because the
 * package `long` and its WebAssembly would take 7 MB of memory.
 */
export class Writer {
  #buffer: Buffer = Buffer.allocUnsafe(INITIAL_BYTES);
  #pos = 0;

  /** Number of bytes written since the last reset. */
  get length(): number {
    return this.#pos;
  }

  /** Discards all written bytes. */
  reset(): void {
    this.#pos = 0;
  }

  /** Returns a copy of the written bytes. */
  finish(): Buffer {
    const bytes = Buffer.from(this.#buffer.subarray(0, this.#pos));
    if (this.#buffer.length > KEEP_BYTES) this.#buffer = Buffer.allocUnsafe(INITIAL_BYTES);
    return bytes;
  }

  /** Writes an unsigned number. @param value an integer from 0 to 2^32-1 */
  uint32(value: number): this {
    this.#reserve(5);
    this.#pos = writeVarint(this.#buffer, this.#pos, value);
    return this;
  }

  /** Writes a signed number. @param value an integer from -2^31 to 2^31-1 */
  int32(value: number): this {
    return value < 0 ? this.varint64(value >>> 0, 0xffff_ffff) : this.uint32(value);
  }

  /** Writes a 64-bit number. @param lo the lower 32 bits @param hi the upper 32 bits */
  varint64(lo: number, hi: number): this {
    this.#reserve(10);
    const buffer = this.#buffer;
    let pos = this.#pos;
    while (hi !== 0) {
      buffer[pos++] = (lo & 0x7f) | 0x80;
      lo = ((lo >>> 7) | (hi << 25)) >>> 0;
      hi >>>= 7;
    }
    this.#pos = writeVarint(buffer, pos, lo);
    return this;
  }

  /** Writes a number as 4 bytes. */
  fixed32(value: number): this {
    this.#reserve(4);
    this.#pos = this.#buffer.writeUInt32LE(value, this.#pos);
    return this;
  }

  /** Writes a number as 8 bytes. @param lo the lower 32 bits @param hi the upper 32 bits */
  fixed64(lo: number, hi: number): this {
    this.#reserve(8);
    this.#pos = this.#buffer.writeUInt32LE(hi, this.#buffer.writeUInt32LE(lo, this.#pos));
    return this;
  }

  double(value: number): this {
    this.#reserve(8);
    this.#pos = this.#buffer.writeDoubleLE(value, this.#pos);
    return this;
  }

  /** Writes a text: its length in bytes, then its UTF-8 encoding. */
  string(value: string): this {
    if (value.length <= SHORT && this.#ascii(value)) return this;
    const length = Buffer.byteLength(value);
    this.uint32(length).#reserve(length);
    this.#pos += this.#buffer.write(value, this.#pos, length, 'utf8');
    return this;
  }

  /** Writes a byte field: its length, then the bytes. */
  bytes(value: Uint8Array): this {
    this.uint32(value.length).#reserve(value.length);
    this.#buffer.set(value, this.#pos);
    this.#pos += value.length;
    return this;
  }

  /** Starts a value that is preceded by its length. The returned position must be passed to {@link join}. */
  fork(): number {
    this.#reserve(1);
    return this.#pos++;
  }

  /**
   * Ends a value started by {@link fork}. {@link fork} has reserved one byte for the length. A value of 128 bytes or
   * more is moved to make room for a longer length.
   */
  join(start: number): void {
    const length = this.#pos - start - 1;
    const extra = length < 0x80 ? 0 : length < 0x4000 ? 1 : length < 0x20_0000 ? 2 : length < 0x1000_0000 ? 3 : 4;
    if (extra > 0) {
      this.#reserve(extra);
      this.#buffer.copyWithin(start + 1 + extra, start + 1, this.#pos);
      this.#pos += extra;
    }
    writeVarint(this.#buffer, start, length);
  }

  /**
   * Writes a short text if it is ASCII, and reports whether it is. Most texts are ASCII, and a loop is faster than a
   * call into Node.js.
   */
  #ascii(value: string): boolean {
    this.#reserve(1 + SHORT);
    const buffer = this.#buffer;
    const start = this.#pos + 1;
    for (let i = 0; i < value.length; i++) {
      const code = value.charCodeAt(i);
      if (code > 0x7f) return false;
      buffer[start + i] = code;
    }
    buffer[this.#pos] = value.length;
    this.#pos = start + value.length;
    return true;
  }

  #reserve(bytes: number): void {
    const needed = this.#pos + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(larger, 0, 0, this.#pos);
    this.#buffer = larger;
  }
}

function writeVarint(buffer: Buffer, pos: number, value: number): number {
  while (value > 0x7f) {
    buffer[pos++] = (value & 0x7f) | 0x80;
    value >>>= 7;
  }
  buffer[pos++] = value;
  return pos;
}
