import { DbusError } from './errors.ts';
import { alignmentOf, type BasicCode, type DbusType, parseSignature, parseSingleType } from './signature.ts';
import { type DbusValue, MAX_ARRAY_BYTES, MAX_VARIANT_DEPTH, Variant } from './values.ts';

/** Decodes values from untrusted bytes. Never reads or allocates more than these bytes. */
export class Unmarshaller {
  readonly #buffer: Buffer;
  readonly #littleEndian: boolean;
  #at: number;

  constructor(bytes: Uint8Array, littleEndian: boolean, at = 0) {
    this.#buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#littleEndian = littleEndian;
    this.#at = at;
  }

  /** The current position. */
  get offset(): number {
    return this.#at;
  }

  /** Decodes the values of a signature. @throws DbusError `Protocol` */
  values(signature: string): readonly DbusValue[] {
    return parseSignature(signature).map((type) => this.#value(type, 0));
  }

  align(to: number): void {
    const padding = -this.#at & (to - 1);
    for (let at = this.#take(padding), end = at + padding; at < end; at++) {
      if (this.#buffer[at] !== 0) throw malformed('non-zero padding');
    }
  }

  #value(type: DbusType, depth: number): DbusValue {
    switch (type.kind) {
      case 'basic':
        return this.#basic(type.code);
      case 'variant': {
        if (depth >= MAX_VARIANT_DEPTH) throw malformed('variants nested too deeply');
        const signature = this.#signature();
        return new Variant(signature, this.#value(parseSingleType(signature), depth + 1));
      }
      case 'array':
        return this.#array(type.item, depth);
      case 'struct':
      case 'entry':
        this.align(8);
        return type.fields.map((field) => this.#value(field, depth));
    }
  }

  #array(item: DbusType, depth: number): DbusValue {
    const bytes = this.#uint32();
    if (bytes > MAX_ARRAY_BYTES) throw malformed('an array that is too long');
    this.align(alignmentOf(item));
    const start = this.#at;
    const end = start + bytes;
    if (end > this.#buffer.length) throw malformed('an array that ends beyond the message');
    if (item.kind === 'basic' && item.code === 'y')
      return Uint8Array.from(this.#buffer.subarray(this.#take(bytes), end));
    const items: DbusValue[] = [];
    while (this.#at < end) items.push(this.#value(item, depth));
    if (this.#at !== end) throw malformed('an array that ends within an item');
    return items;
  }

  #basic(code: BasicCode): DbusValue {
    switch (code) {
      case 's':
      case 'o':
        return this.#text(this.#uint32());
      case 'g':
        return this.#signature();
      case 'u':
        return this.#uint32();
      case 'b': {
        const value = this.#uint32();
        if (value > 1) throw malformed(`the boolean ${value}`);
        return value === 1;
      }
    }
    const size = alignmentOf({ kind: 'basic', code });
    this.align(size);
    const at = this.#take(size);
    const [buffer, little] = [this.#buffer, this.#littleEndian];
    switch (code) {
      case 'y':
        return buffer.readUInt8(at);
      case 'n':
        return little ? buffer.readInt16LE(at) : buffer.readInt16BE(at);
      case 'q':
        return little ? buffer.readUInt16LE(at) : buffer.readUInt16BE(at);
      case 'i':
        return little ? buffer.readInt32LE(at) : buffer.readInt32BE(at);
      case 'x':
        return little ? buffer.readBigInt64LE(at) : buffer.readBigInt64BE(at);
      case 't':
        return little ? buffer.readBigUInt64LE(at) : buffer.readBigUInt64BE(at);
      case 'd':
        return little ? buffer.readDoubleLE(at) : buffer.readDoubleBE(at);
    }
  }

  #uint32(): number {
    this.align(4);
    const at = this.#take(4);
    return this.#littleEndian ? this.#buffer.readUInt32LE(at) : this.#buffer.readUInt32BE(at);
  }

  #signature(): string {
    return this.#text(this.#buffer.readUInt8(this.#take(1)));
  }

  #text(length: number): string {
    const at = this.#take(length + 1);
    const text = this.#buffer.toString('utf8', at, at + length);
    if (this.#buffer[at + length] !== 0) throw malformed('a text without a terminator');
    return text;
  }

  #take(bytes: number): number {
    const at = this.#at;
    if (at + bytes > this.#buffer.length) throw malformed('a value that ends beyond the message');
    this.#at += bytes;
    return at;
  }
}

function malformed(what: string): DbusError {
  return new DbusError('Protocol', `malformed D-Bus message: ${what}`);
}
