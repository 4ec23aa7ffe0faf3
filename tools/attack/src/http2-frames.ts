/**
 * Preface of an HTTP/2 client. The frames in this file (RFC 9113) are encoded by hand, because no library lets a client
 * send invalid sequences.
 */
const PREFACE: Buffer = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

const [HEADERS, RST_STREAM, SETTINGS, GOAWAY, CONTINUATION] = [1, 3, 4, 7, 9];
const [END_STREAM, END_HEADERS] = [1, 4];
const INITIAL_WINDOW_SIZE = 4;
const CANCEL = 8;

function frame(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/**
 * Returns a client's preface and settings.
 * @param windowBytes initial flow-control window of each stream
 */
export function hello(windowBytes = 65_535): Buffer {
  const setting = Buffer.alloc(6);
  setting.writeUInt16BE(INITIAL_WINDOW_SIZE, 0);
  setting.writeUInt32BE(windowBytes, 2);
  return Buffer.concat([PREFACE, frame(SETTINGS, 0, 0, setting)]);
}

/** Properties of a request other than its path. */
interface RequestOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the header block ends with this frame. Default: true. */
  readonly isWhole?: boolean;
}

/** Returns a request without a body. */
export function request(
  stream: number,
  path: string,
  { method = 'GET', headers = {}, isWhole = true }: RequestOptions = {},
): Buffer {
  const fields = { ':method': method, ':scheme': 'https', ':authority': 'x', ':path': path, ...headers };
  return frame(HEADERS, END_STREAM | (isWhole ? END_HEADERS : 0), stream, block(fields));
}

/** Returns further headers of a request whose header block has not ended. */
export function continuation(stream: number, headers: Readonly<Record<string, string>>): Buffer {
  return frame(CONTINUATION, 0, stream, block(headers));
}

function block(fields: Readonly<Record<string, string>>): Buffer {
  return Buffer.concat(Object.entries(fields).flatMap(([name, value]) => [Buffer.of(0), string(name), string(value)]));
}

export function reset(stream: number): Buffer {
  return frame(RST_STREAM, 0, stream, number(CANCEL));
}

export function goAway(lastStream = 0): Buffer {
  return frame(GOAWAY, 0, 0, Buffer.concat([number(lastStream), number(0)]));
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Encodes a string of less than 127 bytes as an HPACK literal without compression. */
function string(text: string): Buffer {
  return Buffer.concat([Buffer.of(text.length), Buffer.from(text)]);
}
