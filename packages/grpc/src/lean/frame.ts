/** Frame types (RFC 9113, section 6). */
export const DATA = 0;
export const HEADERS = 1;
export const RST_STREAM = 3;
export const SETTINGS = 4;
export const PING = 6;
export const GOAWAY = 7;
export const WINDOW_UPDATE = 8;
export const CONTINUATION = 9;

/**
 * Frame flags. The flag END_STREAM of DATA and HEADERS frames has the same value as the flag ACK of SETTINGS and PING
 * frames.
 */
export const END_STREAM = 0x1;
export const ACK = 0x1;
export const END_HEADERS = 0x4;
export const PADDED = 0x8;
export const PRIORITY_FLAG = 0x20;

/** Error codes (RFC 9113, section 7). */
export const NO_ERROR = 0;
export const PROTOCOL_ERROR = 1;
export const FLOW_CONTROL_ERROR = 3;
export const FRAME_SIZE_ERROR = 6;
export const REFUSED_STREAM = 7;
export const CANCEL = 8;
export const COMPRESSION_ERROR = 9;
export const ENHANCE_YOUR_CALM = 11;
export const INADEQUATE_SECURITY = 12;

export const FRAME_HEADER_BYTES = 9;
/** Largest payload that a peer may send: HTTP/2's default, which this package does not raise. */
export const MAX_FRAME_BYTES = 16_384;
export const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

/** A violation of HTTP/2 that ends the connection. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  readonly code: number;

  /** @param code an error code of HTTP/2 */
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Writes a frame header at position `at` of a buffer. Returns the position after the header. */
export function writeFrameHeader(
  buffer: Buffer,
  at: number,
  length: number,
  type: number,
  flags: number,
  streamId: number,
): number {
  buffer[at] = length >>> 16;
  buffer[at + 1] = length >>> 8;
  buffer[at + 2] = length;
  buffer[at + 3] = type;
  buffer[at + 4] = flags;
  return buffer.writeUInt32BE(streamId, at + 5);
}

/** Returns a frame with its header and payload. */
export function frame(type: number, flags: number, streamId: number, payload: Uint8Array): Buffer {
  const buffer = Buffer.allocUnsafe(FRAME_HEADER_BYTES + payload.length);
  buffer.set(payload, writeFrameHeader(buffer, 0, payload.length, type, flags, streamId));
  return buffer;
}

/** Returns a frame whose payload consists of 32-bit numbers: WINDOW_UPDATE, RST_STREAM or GOAWAY. */
export function numbersFrame(type: number, streamId: number, ...numbers: readonly number[]): Buffer {
  const payload = Buffer.allocUnsafe(4 * numbers.length);
  for (const [i, value] of numbers.entries()) payload.writeUInt32BE(value, 4 * i);
  return frame(type, 0, streamId, payload);
}

/** Returns a SETTINGS frame. */
export function settingsFrame(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.allocUnsafe(6 * settings.length);
  for (const [i, [id, value]] of settings.entries()) {
    payload.writeUInt16BE(id, 6 * i);
    payload.writeUInt32BE(value, 6 * i + 2);
  }
  return frame(SETTINGS, 0, 0, payload);
}

/** Returns the payload of a DATA or HEADERS frame without padding. @throws ConnectionError */
export function withoutPadding(flags: number, payload: Buffer): Buffer {
  if ((flags & PADDED) === 0) return payload;
  const padding = payload[0];
  if (padding === undefined) throw new ConnectionError(FRAME_SIZE_ERROR, 'a padded frame is empty');
  if (padding >= payload.length) throw new ConnectionError(PROTOCOL_ERROR, 'the padding is longer than its frame');
  return payload.subarray(1, payload.length - padding);
}

/** Returns the header block of a HEADERS frame. @throws ConnectionError */
export function headerBlock(flags: number, payload: Buffer): Buffer {
  const unpadded = withoutPadding(flags, payload);
  if ((flags & PRIORITY_FLAG) === 0) return unpadded;
  if (unpadded.length < 5) throw new ConnectionError(FRAME_SIZE_ERROR, 'a HEADERS frame is too short for its priority');
  return unpadded.subarray(5);
}
