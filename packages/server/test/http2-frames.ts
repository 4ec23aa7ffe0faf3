/**
 * The preface of an HTTP/2 client. The frames in this file (RFC 9113) are written byte by byte, because libraries
 * refuse to send invalid sequences.
 */
export const PREFACE: Buffer = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

const [DATA, HEADERS, RST_STREAM, SETTINGS, GOAWAY, WINDOW_UPDATE] = [0, 1, 3, 4, 7, 8];
const [END_STREAM, END_HEADERS] = [1, 4];
const INITIAL_WINDOW_SIZE = 4;
const CANCEL = 8;

export function frame(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Returns the preface and the settings of a client. @param windowBytes the initial window of each stream */
export function hello(windowBytes = 65_535): Buffer {
  const setting = Buffer.alloc(6);
  setting.writeUInt16BE(INITIAL_WINDOW_SIZE, 0);
  setting.writeUInt32BE(windowBytes, 2);
  return Buffer.concat([PREFACE, frame(SETTINGS, 0, 0, setting)]);
}

/** Returns a HEADERS frame: a request without a body, or the head of a request with a body. */
export function request(
  stream: number,
  path: string,
  { method = 'GET', hasBody = false }: { readonly method?: string; readonly hasBody?: boolean } = {},
): Buffer {
  const fields = { ':method': method, ':scheme': 'https', ':authority': 'x', ':path': path };
  const block = Object.entries(fields).map(([name, value]) =>
    Buffer.concat([Buffer.of(0), string(name), string(value)]),
  );
  return frame(HEADERS, END_HEADERS | (hasBody ? 0 : END_STREAM), stream, Buffer.concat(block));
}

export function data(stream: number, bytes: Uint8Array): Buffer {
  return frame(DATA, 0, stream, bytes);
}

export function reset(stream: number): Buffer {
  return frame(RST_STREAM, 0, stream, number(CANCEL));
}

export function goAway(lastStream = 0): Buffer {
  return frame(GOAWAY, 0, 0, Buffer.concat([number(lastStream), number(0)]));
}

export function windowUpdate(stream: number, bytes: number): Buffer {
  return frame(WINDOW_UPDATE, 0, stream, number(bytes));
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Returns the HPACK encoding of a text below 127 bytes, without Huffman coding. */
function string(text: string): Buffer {
  return Buffer.concat([Buffer.of(text.length), Buffer.from(text)]);
}
