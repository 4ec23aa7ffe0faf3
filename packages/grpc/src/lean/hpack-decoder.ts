import { decodeHuffman } from './huffman.ts';
import { type HeaderField, STATIC_TABLE, sizeOf } from './static-table.ts';

/** Size of the dynamic table that a peer may use, in bytes: HTTP/2's default, which this package never changes. */
const MAX_TABLE_BYTES = 4096;

/** Integers at or above this limit are rejected. No valid length or index is that large. */
const MAX_INTEGER = 2 ** 28;

/**
 * A malformed header block. The connection cannot continue after this error, because the peers' dynamic tables may
 * differ.
 */
export class HpackError extends Error {
  override readonly name = 'HpackError';
}

/** Decodes header blocks of one connection (RFC 7541). The blocks must be decoded in the order of their arrival. */
export class HpackDecoder {
  /** Entries of the dynamic table, the newest entry last. */
  readonly #dynamic: HeaderField[] = [];
  #tableBytes = 0;
  #maxTableBytes = MAX_TABLE_BYTES;
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;
  #end = 0;
  #fields: HeaderField[] = [];

  /**
   * Returns the fields of a block. A field of the dynamic table, for which a reference of 1 byte may stand, is not
   * copied. @throws HpackError
   */
  decode(block: Uint8Array): HeaderField[] {
    this.#bytes = block;
    this.#at = 0;
    this.#end = block.length;
    this.#fields = [];
    while (this.#at < this.#end) {
      const first = block[this.#at] ?? 0;
      if (first >= 0x80) this.#fields.push(this.#entry(this.#integer(0x7f)));
      else if (first >= 0x40) {
        const field = this.#literal(0x3f);
        this.#add(field);
        this.#fields.push(field);
      } else if (first >= 0x20) {
        if (this.#fields.length > 0) throw new HpackError('a table size update follows a header field');
        this.#resize(this.#integer(0x1f));
      } else this.#fields.push(this.#literal(0x0f));
    }
    return this.#fields;
  }

  #literal(mask: number): HeaderField {
    const index = this.#integer(mask);
    const name = index === 0 ? this.#string() : this.#entry(index)[0];
    return [name, this.#string()];
  }

  #entry(index: number): HeaderField {
    const dynamic = index - STATIC_TABLE.length;
    const field = dynamic <= 0 ? STATIC_TABLE[index - 1] : this.#dynamic[this.#dynamic.length - dynamic];
    if (field === undefined) throw new HpackError(`there is no header field at index ${index}`);
    return field;
  }

  #add(field: HeaderField): void {
    const size = sizeOf(field);
    this.#evict(this.#maxTableBytes - size);
    if (size > this.#maxTableBytes) return;
    this.#dynamic.push(field);
    this.#tableBytes += size;
  }

  #resize(maxBytes: number): void {
    if (maxBytes > MAX_TABLE_BYTES) throw new HpackError(`a table size of ${maxBytes} exceeds ${MAX_TABLE_BYTES}`);
    this.#maxTableBytes = maxBytes;
    this.#evict(maxBytes);
  }

  #evict(maxBytes: number): void {
    let evicted = 0;
    while (this.#tableBytes > maxBytes) {
      const oldest = this.#dynamic[evicted];
      if (oldest === undefined) break;
      this.#tableBytes -= sizeOf(oldest);
      evicted++;
    }
    if (evicted > 0) this.#dynamic.splice(0, evicted);
  }

  /**
   * Reads an integer that starts in the low bits of the next byte. `mask` selects these bits (RFC 7541, section 5.1).
   */
  #integer(mask: number): number {
    let value = this.#byte() & mask;
    if (value < mask) return value;
    for (let factor = 1; ; factor *= 0x80) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (value >= MAX_INTEGER || factor > MAX_INTEGER) throw new HpackError('an integer is too large');
      if (byte < 0x80) return value;
    }
  }

  #string(): string {
    const isHuffman = (this.#bytes[this.#at] ?? 0) >= 0x80;
    const length = this.#integer(0x7f);
    const start = this.#at;
    const end = start + length;
    if (end > this.#end) throw new HpackError('a string ends after its header block');
    this.#at = end;
    if (isHuffman) {
      const text = decodeHuffman(this.#bytes, start, end);
      if (text === undefined) throw new HpackError('a string is not valid Huffman code');
      return text;
    }
    let text = '';
    for (let at = start; at < end; at++) text += String.fromCharCode(this.#bytes[at] ?? 0);
    return text;
  }

  #byte(): number {
    if (this.#at >= this.#end) throw new HpackError('a header block ends within a field');
    return this.#bytes[this.#at++] ?? 0;
  }
}
