/** Names of `grpc.health.v1.HealthCheckResponse.ServingStatus`, by number. */
const STATUSES = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'] as const;

/** Encodes a `grpc.health.v1.HealthCheckRequest` in gRPC's message frame. */
export function healthRequest(service: string): Buffer {
  const name = Buffer.from(service);
  const field = service === '' ? Buffer.alloc(0) : Buffer.concat([Buffer.from([0x0a, ...varint(name.length)]), name]);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(field.length, 1);
  return Buffer.concat([head, field]);
}

/**
 * Decodes the status of a framed `HealthCheckResponse`, such as `SERVING`; an unknown number is returned as digits.
 * @returns `undefined` if the frame is incomplete or no such message
 */
export function healthStatus(frame: Uint8Array): string | undefined {
  const bytes = Buffer.from(frame);
  if (bytes.length < 5 || bytes[0] !== 0 || bytes.length < 5 + bytes.readUInt32BE(1)) return undefined;
  const message = bytes.subarray(5, 5 + bytes.readUInt32BE(1));
  let status = 0;
  for (let at = 0; at < message.length; ) {
    const tag = readVarint(message, at);
    if (tag === undefined) return undefined;
    const field = readField(message, tag.next, tag.value & 7);
    if (field === undefined) return undefined;
    if (tag.value === 0x08) status = field.value;
    at = field.next;
  }
  return STATUSES[status] ?? String(status);
}

interface Read {
  readonly value: number;
  readonly next: number;
}

/** Reads one field; the value of unknown fields is skipped, as protobuf requires. */
function readField(bytes: Buffer, at: number, wireType: number): Read | undefined {
  if (wireType === 0) return readVarint(bytes, at);
  if (wireType === 1) return within(bytes, at + 8);
  if (wireType === 5) return within(bytes, at + 4);
  if (wireType !== 2) return undefined;
  const length = readVarint(bytes, at);
  return length && within(bytes, length.next + length.value);
}

function within(bytes: Buffer, next: number): Read | undefined {
  return next <= bytes.length ? { value: 0, next } : undefined;
}

function readVarint(bytes: Buffer, at: number): Read | undefined {
  let value = 0;
  for (let index = 0; index < 10; index++) {
    const byte = bytes[at + index];
    if (byte === undefined) return undefined;
    value += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return { value, next: at + index + 1 };
  }
  return undefined;
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >> 7)];
}
