import { DbusError } from './errors.ts';
import { marshal } from './marshal.ts';
import { Unmarshaller } from './unmarshal.ts';
import { type DbusValue, Variant } from './values.ts';

/** The type of a message. */
export type DbusMessageType = 'invalid' | 'call' | 'return' | 'error' | 'signal';
/** Message types, indexed by their number on the wire. */
const MESSAGE_TYPES: readonly DbusMessageType[] = ['invalid', 'call', 'return', 'error', 'signal'];

/** A message. Unknown types of messages have the type `invalid`. */
export interface DbusMessage {
  readonly type: DbusMessageType;
  readonly serial: number;
  readonly path?: string | undefined;
  readonly interface?: string | undefined;
  readonly member?: string | undefined;
  readonly errorName?: string | undefined;
  readonly replySerial?: number | undefined;
  readonly destination?: string | undefined;
  readonly sender?: string | undefined;
  readonly signature?: string | undefined;
  readonly body: readonly DbusValue[];
}

/** The header fields with their numbers and types. */
const FIELDS = [
  ['path', 1, 'o'],
  ['interface', 2, 's'],
  ['member', 3, 's'],
  ['errorName', 4, 's'],
  ['replySerial', 5, 'u'],
  ['destination', 6, 's'],
  ['sender', 7, 's'],
  ['signature', 8, 'g'],
] as const;

const VERSION = 1;
const FIXED_BYTES = 16;
const LITTLE_ENDIAN = 0x6c;
const BIG_ENDIAN = 0x42;
/** The size limit of a reply, in bytes, far above any reply that the kubelet needs. */
export const MAX_MESSAGE_BYTES: number = 1 << 23;
/** The size limit of a header, in bytes. Names have at most 255 characters, and paths are little longer. */
export const MAX_HEADER_BYTES: number = 1 << 16;
/** The size limit of a signal's body, in bytes: any client of a bus can send signals. */
export const MAX_SIGNAL_BYTES: number = 1 << 16;
/** The size limit of messages in the D-Bus standard, in bytes. Data with a longer message is not D-Bus. */
const MAX_STANDARD_BYTES = 1 << 27;

/** Encodes a message, little-endian. @throws DbusError `Protocol` */
export function encodeMessage(message: DbusMessage): Uint8Array {
  const { type, serial, signature = '', body } = message;
  const bodyBytes = marshal(signature, body);
  const fields = FIELDS.flatMap(([name, code, fieldType]) => {
    const value = message[name];
    return value === undefined || value === '' ? [] : [[code, new Variant(fieldType, value)] as const];
  });
  const number = MESSAGE_TYPES.indexOf(type);
  const header = marshal('yyyyuua(yv)', [LITTLE_ENDIAN, number, 0, VERSION, bodyBytes.length, serial, fields]);
  return Buffer.concat([header, Buffer.alloc(-header.length & 7), bodyBytes]);
}

/**
 * Returns the length of the first message and of its header, or `undefined` if there are too few bytes.
 * @throws DbusError `Protocol`
 */
export function lengthsOf(bytes: Buffer): { readonly header: number; readonly message: number } | undefined {
  if (bytes.length < FIXED_BYTES) return undefined;
  const little = isLittleEndian(bytes);
  const read = (at: number): number => (little ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));
  const header = FIXED_BYTES + read(12);
  const padded = header + (-header & 7);
  const message = padded + read(4);
  if (message > MAX_STANDARD_BYTES) throw new DbusError('Protocol', `a D-Bus message of ${message} bytes`);
  return { header: padded, message };
}

/** Decodes a message. @param bytes one complete message @throws DbusError `Protocol` */
export function decodeMessage(bytes: Uint8Array): DbusMessage {
  const { header, length } = decodeHeader(bytes);
  return { ...header, body: decodeBody(bytes, header, length) };
}

/** A message without its body. */
export type DbusHeader = Omit<DbusMessage, 'body'>;

/**
 * Decodes the header of a message.
 * @param bytes the start of a message, at least its complete header
 * @throws DbusError `Protocol`
 */
export function decodeHeader(bytes: Uint8Array): { readonly header: DbusHeader; readonly length: number } {
  const little = isLittleEndian(bytes);
  const reader = new Unmarshaller(bytes, little);
  const [, number, , version, , serial, fields] = reader.values('yyyyuua(yv)');
  if (version !== VERSION) throw new DbusError('Protocol', `D-Bus of version ${String(version)}`);
  const known: Record<string, unknown> = {};
  for (const field of fields as readonly (readonly [number, Variant])[]) {
    const [code, { signature, value }] = field;
    const definition = FIELDS.find(([, fieldCode]) => fieldCode === code);
    if (definition === undefined) continue;
    if (definition[2] !== signature)
      throw new DbusError('Protocol', `a header field ${definition[0]} of type ${signature}`);
    known[definition[0]] = value;
  }
  reader.align(8);
  const message = known as Omit<DbusHeader, 'type' | 'serial'>;
  const header = { ...message, type: MESSAGE_TYPES[number as number] ?? 'invalid', serial: serial as number };
  return { header, length: reader.offset };
}

/**
 * Decodes the body, which may have types that this package does not support. @param bytes one complete message @param
 * at the length of the header @throws DbusError `Protocol`
 */
export function decodeBody(bytes: Uint8Array, { signature = '' }: DbusHeader, at: number): readonly DbusValue[] {
  const reader = new Unmarshaller(bytes, isLittleEndian(bytes), at);
  const body = reader.values(signature);
  if (reader.offset !== bytes.length) throw new DbusError('Protocol', 'a D-Bus body that is longer than its signature');
  return body;
}

function isLittleEndian(bytes: Uint8Array): boolean {
  if (bytes[0] === LITTLE_ENDIAN) return true;
  if (bytes[0] === BIG_ENDIAN) return false;
  throw new DbusError('Protocol', `a D-Bus message of byte order ${bytes[0]}`);
}
