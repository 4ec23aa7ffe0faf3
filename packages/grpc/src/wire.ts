import { setEntry } from './copy.ts';
import { Reader, StrictReader } from './reader.ts';
import { Writer } from './writer.ts';

/**
 * A value of an enum in a .proto file: one of the known numbers or, from a newer peer, any other number. A `switch`
 * over the names narrows the type; its `default` handles the rest.
 */
export type OpenEnum<E extends Readonly<Record<string, number>>> = E[keyof E] | (number & {});

/**
 * A message to send, with every field optional. An absent or `null` field is not sent, so that the peer decodes its
 * default.
 */
export type Init<T> = T extends number | bigint | string | boolean | Uint8Array
  ? T
  : T extends readonly (infer E)[]
    ? readonly Init<E>[]
    : T extends object
      ? { readonly [K in keyof T]?: Init<T[K]> | null | undefined }
      : T;

/** The encoder and decoder of a message. */
export interface MessageType<M> {
  /** The full name in the .proto file, such as `runtime.v1.Container`. */
  readonly name: string;
  /**
   * Encodes a message. @throws TypeError naming the message and the field if a value does not match the type of its
   * field
   */
  encode(message: Init<M>): Buffer;
  /**
   * Decodes a message. Unknown fields are dropped; absent fields get their defaults.
   * @throws RangeError if the bytes are not a message
   */
  decode(bytes: Uint8Array): M;
  /** Returns the message that a peer would decode if `message` was sent: all fields are set. */
  create(message: Init<M>): M;
}

/** An RPC with a single response. */
export interface UnaryRpc<Req, Res> {
  /** The name in the .proto file, such as `RunPodSandbox`. */
  readonly name: string;
  /** The path of the RPC, such as `/runtime.v1.RuntimeService/RunPodSandbox`. */
  readonly path: string;
  readonly stream: false;
  readonly request: MessageType<Req>;
  readonly response: MessageType<Res>;
}

/** An RPC with a streamed response. */
export interface StreamRpc<Req, Res> extends Omit<UnaryRpc<Req, Res>, 'stream'> {
  readonly stream: true;
}

/**
 * All messages share one writer, because encoding is synchronous and encoders do not call `encode` of other messages.
 */
const writer = new Writer();

export function messageType<M>(
  name: string,
  encode: (message: Init<M>, writer: Writer) => void,
  decode: (reader: Reader, end: number, into?: M) => M,
  create: (message: Init<M>) => M,
  ReaderClass: typeof Reader = Reader,
): MessageType<M> {
  return {
    name,
    encode(message) {
      writer.reset();
      encode(message, writer);
      return writer.finish();
    },
    decode(bytes) {
      const reader = new ReaderClass(bytes);
      return decode(reader, reader.end);
    },
    create,
  };
}

/** Like {@link messageType}, but rejects text that is not UTF-8, as Go's decoder does. */
export function strictMessageType<M>(
  name: string,
  encode: (message: Init<M>, writer: Writer) => void,
  decode: (reader: Reader, end: number, into?: M) => M,
  create: (message: Init<M>) => M,
): MessageType<M> {
  return messageType(name, encode, decode, create, StrictReader);
}

export type Absent = null | undefined;

export function refuse(field: string, value: unknown, expected: string): TypeError {
  return new TypeError(`${field}: expected ${expected}, got ${describe(value)}`);
}

function describe(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`;
  return typeof value === 'number' || value === null ? String(value) : typeof value;
}

export function putString(w: Writer, tag: number, value: string | Absent, field: string): void {
  if (value === undefined || value === null || value === '') return;
  if (typeof value !== 'string') throw refuse(field, value, 'a string');
  w.uint32(tag).string(value);
}

export function putStrings(w: Writer, tag: number, values: readonly string[] | Absent, field: string): void {
  for (const value of list(values, field)) {
    if (typeof value !== 'string') throw refuse(field, value, 'a string');
    w.uint32(tag).string(value);
  }
}

export function putBool(w: Writer, tag: number, value: boolean | Absent, field: string): void {
  if (value === undefined || value === null || value === false) return;
  if (value !== true) throw refuse(field, value, 'a boolean');
  w.uint32(tag).uint32(1);
}

export function putBytes(w: Writer, tag: number, value: Uint8Array | Absent, field: string): void {
  if (value === undefined || value === null) return;
  if (!(value instanceof Uint8Array)) throw refuse(field, value, 'a Uint8Array');
  if (value.length > 0) w.uint32(tag).bytes(value);
}

export function putDouble(w: Writer, tag: number, value: number | Absent, field: string): void {
  if (value === undefined || value === null || Object.is(value, 0)) return;
  if (typeof value !== 'number') throw refuse(field, value, 'a number');
  w.uint32(tag).double(value);
}

export function putInt32(w: Writer, tag: number, value: number | Absent, field: string): void {
  if (value === undefined || value === null || value === 0) return;
  w.uint32(tag).int32(checkInt32(value, field));
}

export function putUint32(w: Writer, tag: number, value: number | Absent, field: string): void {
  if (value === undefined || value === null || value === 0) return;
  w.uint32(tag).uint32(checkUint32(value, field));
}

export function putInt64(w: Writer, tag: number, value: number | Absent, field: string): void {
  if (value === undefined || value === null || value === 0) return;
  writeInt64(w.uint32(tag), value, field);
}

export function putUint64(w: Writer, tag: number, value: number | Absent, field: string): void {
  if (value === undefined || value === null || value === 0) return;
  checkUint64(value, field);
  // The largest values were rounded up to 2^64 when they were decoded, which is out of range. They are written as 2^64
  // - 1.
  if (value === 2 ** 64) w.uint32(tag).varint64(0xffff_ffff, 0xffff_ffff);
  else w.uint32(tag).varint64(value >>> 0, Math.floor(value / 2 ** 32));
}

export function putBigInt64(w: Writer, tag: number, value: bigint | Absent, field: string): void {
  if (value === undefined || value === null || value === 0n) return;
  writeBigInt(w.uint32(tag), checkBigInt64(value, field));
}

export function putBigUint64(w: Writer, tag: number, value: bigint | Absent, field: string): void {
  if (value === undefined || value === null || value === 0n) return;
  writeBigInt(w.uint32(tag), checkBigUint64(value, field));
}

export function putInt32s(w: Writer, tag: number, values: readonly number[] | Absent, field: string): void {
  const numbers = list(values, field);
  if (numbers.length === 0) return;
  const start = w.uint32(tag).fork();
  for (const value of numbers) w.int32(checkInt32(value, field));
  w.join(start);
}

export function putInt64s(w: Writer, tag: number, values: readonly number[] | Absent, field: string): void {
  const numbers = list(values, field);
  if (numbers.length === 0) return;
  const start = w.uint32(tag).fork();
  for (const value of numbers) writeInt64(w, value, field);
  w.join(start);
}

export function putMap(
  w: Writer,
  tag: number,
  map: Readonly<Record<string, string | Absent>> | Absent,
  field: string,
): void {
  if (map === undefined || map === null) return;
  for (const [key, value] of Object.entries(map)) {
    if (value === undefined || value === null) continue;
    if (typeof value !== 'string') throw refuse(`${field}[${JSON.stringify(key)}]`, value, 'a string');
    const start = w.uint32(tag).fork();
    w.uint32(10).string(key).uint32(18).string(value);
    w.join(start);
  }
}

export function putMessageMap<M>(
  w: Writer,
  tag: number,
  map: Readonly<Record<string, Init<M> | Absent>> | Absent,
  encode: (message: Init<M>, writer: Writer) => void,
  field: string,
): void {
  if (map === undefined || map === null) return;
  for (const [key, value] of Object.entries(map)) {
    if (value === undefined || value === null) continue;
    const start = w.uint32(tag).fork();
    w.uint32(10).string(key);
    putMessage(w, 18, value, encode, `${field}[${JSON.stringify(key)}]`);
    w.join(start);
  }
}

/** Writes a member of a oneof. A member that is set is written even if its value is the default. */
export function putMember<T>(
  w: Writer,
  tag: number,
  value: T | Absent,
  put: (w: Writer, tag: number, value: T, field: string) => void,
  field: string,
): void {
  if (value === undefined || value === null) return;
  const before = w.length;
  put(w, tag, value, field);
  if (w.length > before) return;
  const isDouble = (tag & 7) === 1;
  if (isDouble) w.uint32(tag).double(0);
  else w.uint32(tag).uint32(0);
}

/**
 * Rejects a message in which several members of a oneof are set.
 * @throws TypeError if more than one member of a oneof is set
 */
export function checkOneof<K extends string>(
  message: { readonly [Name in K]?: unknown },
  members: readonly K[],
  oneof: string,
): void {
  const set = members.filter((name) => message[name] !== undefined && message[name] !== null);
  if (set.length > 1) throw new TypeError(`${oneof}: only one of ${set.join(' and ')} may be set`);
}

export function putMessage<M>(
  w: Writer,
  tag: number,
  message: Init<M> | Absent,
  encode: (message: Init<M>, writer: Writer) => void,
  field: string,
): void {
  if (message === undefined || message === null) return;
  if (typeof message !== 'object') throw refuse(field, message, 'an object');
  const start = w.uint32(tag).fork();
  encode(message, w);
  w.join(start);
}

export function putMessages<M>(
  w: Writer,
  tag: number,
  items: readonly (Init<M> | Absent)[] | Absent,
  encode: (message: Init<M>, writer: Writer) => void,
  field: string,
): void {
  for (const message of list(items, field)) {
    if (typeof message !== 'object' || message === null) throw refuse(field, message, 'an object');
    const start = w.uint32(tag).fork();
    encode(message, w);
    w.join(start);
  }
}

export const noBytes: Uint8Array = new Uint8Array(0);

export function readMessage<M>(r: Reader, decode: (reader: Reader, end: number, into?: M) => M, into?: M | null): M {
  const end = r.endOfNext();
  const message = decode(r, end, into ?? undefined);
  checkEnd(r, end);
  return message;
}

/** Reads repeated numbers that share one tag (packed encoding). */
export function readPacked(r: Reader, readOne: () => unknown): void {
  const end = r.endOfNext();
  while (r.pos < end) readOne();
  checkEnd(r, end);
}

export function readMapEntry(r: Reader, map: Record<string, string>): void {
  const end = r.endOfNext();
  let key = '';
  let value = '';
  while (r.pos < end) {
    const tag = r.uint32();
    if (tag === 10) key = r.string();
    else if (tag === 18) value = r.string();
    else r.skip(tag);
  }
  checkEnd(r, end);
  setEntry(map, key, value);
}

export function readMessageMapEntry<M>(
  r: Reader,
  map: Record<string, M>,
  decode: (reader: Reader, end: number, into?: M) => M,
): void {
  const end = r.endOfNext();
  let key = '';
  let value: M | null = null;
  while (r.pos < end) {
    const tag = r.uint32();
    if (tag === 10) key = r.string();
    else if (tag === 18) value = readMessage(r, decode, value);
    else r.skip(tag);
  }
  checkEnd(r, end);
  setEntry(map, key, value ?? decode(r, r.pos));
}

function writeBigInt(w: Writer, value: bigint): void {
  const bits = BigInt.asUintN(64, value);
  w.varint64(Number(bits & 0xffff_ffffn), Number(bits >> 32n));
}

function writeInt64(w: Writer, value: number, field: string): void {
  checkInt64(value, field);
  // The largest values were rounded up to 2^63 when they were decoded, which is out of range. They are written as 2^63
  // - 1.
  if (value === 2 ** 63) w.varint64(0xffff_ffff, 0x7fff_ffff);
  else w.varint64(value >>> 0, Math.floor(value / 2 ** 32) >>> 0);
}

export function checkInt32(value: number, field: string): number {
  if (!Number.isInteger(value) || value < -0x8000_0000 || value > 0x7fff_ffff) {
    throw refuse(field, value, 'a 32-bit integer');
  }
  return value;
}

export function checkUint32(value: number, field: string): number {
  if (!Number.isInteger(value) || value < 0 || value > 0xffff_ffff) {
    throw refuse(field, value, 'an unsigned 32-bit integer');
  }
  return value;
}

export function checkInt64(value: number, field: string): number {
  if (!Number.isInteger(value) || value < -(2 ** 63) || value > 2 ** 63) throw refuse(field, value, 'a 64-bit integer');
  return value;
}

export function checkUint64(value: number, field: string): number {
  if (!Number.isInteger(value) || value < 0 || value > 2 ** 64) {
    throw refuse(field, value, 'an unsigned 64-bit integer');
  }
  return value;
}

export function checkBigInt64(value: bigint, field: string): bigint {
  if (typeof value !== 'bigint' || BigInt.asIntN(64, value) !== value) throw refuse(field, value, 'a 64-bit bigint');
  return value;
}

export function checkBigUint64(value: bigint, field: string): bigint {
  if (typeof value !== 'bigint' || BigInt.asUintN(64, value) !== value) {
    throw refuse(field, value, 'an unsigned 64-bit bigint');
  }
  return value;
}

export function list<T>(values: readonly T[] | Absent, field: string): readonly T[] {
  if (values === undefined || values === null) return [];
  if (!Array.isArray(values)) throw refuse(field, values, 'an array');
  return values;
}

function checkEnd(r: Reader, end: number): void {
  if (r.pos !== end) throw new RangeError(`a field ends at ${r.pos}, after the end of its message at ${end}`);
}
