import { DbusError } from './errors.ts';
import { alignmentOf, type BasicCode, type DbusType, parseSignature, parseSingleType } from './signature.ts';
import { type DbusValue, MAX_ARRAY_BYTES, MAX_VARIANT_DEPTH, Variant } from './values.ts';

/** Encodes values, little-endian. @throws DbusError `Protocol` if a value does not match its type */
export function marshal(signature: string, values: readonly DbusValue[]): Uint8Array {
  const types = parseSignature(signature);
  if (types.length !== values.length) {
    const wanted = `${types.length} by the signature ${JSON.stringify(signature)}`;
    throw new DbusError('Protocol', `a D-Bus body of ${values.length} values, and ${wanted}`);
  }
  const writer = new Writer();
  for (const [index, type] of types.entries()) writer.write(type, values[index], 0);
  return writer.bytes();
}

/** The minimum and maximum of each integer type. */
const RANGES: Readonly<Partial<Record<BasicCode, readonly [bigint, bigint]>>> = {
  y: [0n, 255n],
  n: [-(1n << 15n), (1n << 15n) - 1n],
  q: [0n, (1n << 16n) - 1n],
  i: [-(1n << 31n), (1n << 31n) - 1n],
  u: [0n, (1n << 32n) - 1n],
  x: [-(1n << 63n), (1n << 63n) - 1n],
  t: [0n, (1n << 64n) - 1n],
};

class Writer {
  #buffer = Buffer.alloc(256);
  #length = 0;

  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  write(type: DbusType, value: DbusValue | undefined, depth: number): void {
    if (type.kind === 'basic') this.#basic(type.code, value);
    else if (type.kind === 'variant') this.#variant(value, depth);
    else if (type.kind === 'array') this.#array(type.item, value, depth);
    else {
      if (!isList(value) || value.length !== type.fields.length) throw unfit(value, type.kind);
      this.#align(8);
      for (const [index, field] of type.fields.entries()) this.write(field, value[index], depth);
    }
  }

  #variant(value: DbusValue | undefined, depth: number): void {
    if (!Variant.is(value) || depth >= MAX_VARIANT_DEPTH) throw unfit(value, 'v');
    this.#text('g', value.signature);
    this.write(parseSingleType(value.signature), value.value, depth + 1);
  }

  #array(item: DbusType, value: DbusValue | undefined, depth: number): void {
    const isBytes = item.kind === 'basic' && item.code === 'y';
    if (!(isList(value) || (isBytes && value instanceof Uint8Array))) throw unfit(value, 'array');
    this.#align(4);
    const lengthAt = this.#reserve(4);
    // The padding before the first item does not count towards the length of the array.
    this.#align(alignmentOf(item));
    const start = this.#length;
    if (value instanceof Uint8Array) this.#raw(value);
    else for (const entry of value) this.write(item, entry, depth);
    const bytes = this.#length - start;
    if (bytes > MAX_ARRAY_BYTES) throw unfit(`${bytes} bytes`, 'array');
    this.#buffer.writeUInt32LE(bytes, lengthAt);
  }

  #basic(code: BasicCode, value: DbusValue | undefined): void {
    if (code === 's' || code === 'o' || code === 'g') {
      this.#text(code, value);
      return;
    }
    const at = this.#number(code);
    if (code === 'b') {
      if (typeof value !== 'boolean') throw unfit(value, code);
      this.#buffer.writeUInt32LE(value ? 1 : 0, at);
      return;
    }
    if (code === 'd') {
      if (typeof value !== 'number') throw unfit(value, code);
      this.#buffer.writeDoubleLE(value, at);
      return;
    }
    const whole = wholeNumber(code, value);
    if (code === 'x') this.#buffer.writeBigInt64LE(whole, at);
    else if (code === 't') this.#buffer.writeBigUInt64LE(whole, at);
    else if (code === 'i') this.#buffer.writeInt32LE(Number(whole), at);
    else if (code === 'u') this.#buffer.writeUInt32LE(Number(whole), at);
    else if (code === 'n') this.#buffer.writeInt16LE(Number(whole), at);
    else if (code === 'q') this.#buffer.writeUInt16LE(Number(whole), at);
    else this.#buffer.writeUInt8(Number(whole), at);
  }

  #number(code: BasicCode): number {
    const size = alignmentOf({ kind: 'basic', code });
    this.#align(size);
    return this.#reserve(size);
  }

  #text(code: 's' | 'o' | 'g', value: DbusValue | undefined): void {
    if (typeof value !== 'string' || value.includes('\0') || !value.isWellFormed()) throw unfit(value, code);
    if (code === 'o' && !/^\/(?:[A-Za-z0-9_]+(?:\/[A-Za-z0-9_]+)*)?$/.test(value)) throw unfit(value, code);
    const bytes = Buffer.from(`${value}\0`);
    if (code === 'g') {
      parseSignature(value);
      const at = this.#reserve(1);
      this.#buffer.writeUInt8(bytes.length - 1, at);
    } else {
      const at = this.#number('u');
      this.#buffer.writeUInt32LE(bytes.length - 1, at);
    }
    this.#raw(bytes);
  }

  #raw(bytes: Uint8Array): void {
    const at = this.#reserve(bytes.length);
    this.#buffer.set(bytes, at);
  }

  #align(to: number): void {
    this.#reserve(-this.#length & (to - 1));
  }

  /** Reserves zeroed bytes and may replace the buffer. @returns the position of the first byte */
  #reserve(bytes: number): number {
    const at = this.#length;
    this.#length += bytes;
    if (this.#length > this.#buffer.length) {
      const larger = Buffer.alloc(Math.max(this.#length, this.#buffer.length * 2));
      larger.set(this.#buffer.subarray(0, at));
      this.#buffer = larger;
    }
    return at;
  }
}

function wholeNumber(code: BasicCode, value: DbusValue | undefined): bigint {
  const isWide = code === 'x' || code === 't';
  const isWhole = isWide ? typeof value === 'bigint' : typeof value === 'number' && Number.isInteger(value);
  const range = RANGES[code];
  if (!isWhole || range === undefined) throw unfit(value, code);
  const whole = BigInt(value as number | bigint);
  if (whole < range[0] || whole > range[1]) throw unfit(value, code);
  return whole;
}

function isList(value: DbusValue | undefined): value is readonly DbusValue[] {
  return Array.isArray(value);
}

function unfit(value: unknown, type: string): DbusError {
  const shown = typeof value === 'string' ? JSON.stringify(value.slice(0, 64)) : `a ${typeof value} (${String(value)})`;
  return new DbusError('Protocol', `${shown} is not a D-Bus value of type ${type}`);
}
