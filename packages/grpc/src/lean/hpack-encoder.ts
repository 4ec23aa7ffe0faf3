/** Indexes, in the static table (RFC 7541, appendix A), of the header names that gRPC requests use. */
const NAME_INDEX: Readonly<Record<string, number>> = {
  ':authority': 1,
  ':path': 4,
  'content-type': 31,
  'user-agent': 58,
};

/** Encoded references to `:method: POST` and `:scheme: http` in the static table. */
const POST_HTTP: readonly number[] = [0x83, 0x86];

/**
 * Encoded table size update to 0, because requests never use the dynamic table. After this update, the client need not
 * acknowledge a change of the table size that the peer allows.
 */
export const NO_DYNAMIC_TABLE: Buffer = Buffer.of(0x20);

/** Returns the encoded part of a header block that all requests of one RPC share. */
export function requestHead(path: string, userAgent: string): Buffer {
  return Buffer.concat([
    Buffer.from(POST_HTTP),
    literal(':path', path),
    literal(':authority', 'localhost'),
    literal('content-type', 'application/grpc'),
    literal('te', 'trailers'),
    literal('user-agent', userAgent),
    // The client cannot decompress messages of the peer.
    literal('grpc-accept-encoding', 'identity'),
  ]);
}

/**
 * Encodes a header field without Huffman code, and without adding the field to the dynamic table. Name and value must
 * be ASCII.
 */
export function literal(name: string, value: string): Buffer {
  const index = NAME_INDEX[name];
  const head = index === undefined ? [0, ...integer(name.length, 0x7f)] : integer(index, 0x0f);
  return Buffer.concat([
    Buffer.from(head),
    Buffer.from(index === undefined ? name : '', 'latin1'),
    Buffer.from(integer(value.length, 0x7f)),
    Buffer.from(value, 'latin1'),
  ]);
}

/** Encodes an integer whose first bits are the low bits of a byte that `mask` selects (RFC 7541, section 5.1). */
function integer(value: number, mask: number): number[] {
  if (value < mask) return [value];
  const bytes = [mask];
  let rest = value - mask;
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return bytes;
}
