import { type HeaderField, STATIC_TABLE } from '../../src/lean/static-table.ts';
import type { Chance } from './chance.ts';
import { HUFFMAN_LENGTHS } from './huffman-lengths.ts';

/** Huffman codes by octet, computed from the code lengths by their canonical order. */
const CODES: readonly { readonly code: number; readonly length: number }[] = (() => {
  const codes = Array.from({ length: 256 }, () => ({ code: 0, length: 0 }));
  const order = codes.map((_, octet) => octet).sort((a, b) => lengthOf(a) - lengthOf(b) || a - b);
  let code = 0;
  let length = 0;
  for (const octet of order) {
    code *= 2 ** (lengthOf(octet) - length);
    length = lengthOf(octet);
    codes[octet] = { code, length };
    code++;
  }
  return codes;
})();

function lengthOf(octet: number): number {
  return HUFFMAN_LENGTHS[octet] ?? 0;
}

export function huffman(text: string): Buffer {
  let bits = '';
  for (const byte of Buffer.from(text, 'latin1')) {
    const { code, length } = CODES[byte] ?? { code: 0, length: 0 };
    bits += code.toString(2).padStart(length, '0');
  }
  const padded = bits.padEnd(Math.ceil(bits.length / 8) * 8, '1');
  return Buffer.from(padded.match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? []);
}

export function integer(value: number, mask: number, pattern: number): number[] {
  if (value < mask) return [pattern | value];
  const bytes = [pattern | mask];
  let rest = value - mask;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return bytes;
}

function string(text: string, isHuffman: boolean): Buffer {
  const bytes = isHuffman ? huffman(text) : Buffer.from(text, 'latin1');
  return Buffer.concat([Buffer.from(integer(bytes.length, 0x7f, isHuffman ? 0x80 : 0)), bytes]);
}

/** An HPACK encoder that chooses the representation of each field at random, so that all representations occur. */
export class HpackWriter {
  readonly #random: Chance;
  #table: HeaderField[] = [];
  #maxBytes = 4096;

  constructor(random: Chance) {
    this.#random = random;
  }

  block(fields: readonly HeaderField[]): Buffer {
    const parts: Buffer[] = [];
    if (this.#chance(0.1)) {
      this.#maxBytes = Math.floor(this.#random() * 4097);
      this.#evict();
      parts.push(Buffer.from(integer(this.#maxBytes, 0x1f, 0x20)));
    }
    for (const field of fields) parts.push(this.#field(field));
    return Buffer.concat(parts);
  }

  #field([name, value]: HeaderField): Buffer {
    const all = [...STATIC_TABLE, ...this.#table];
    const whole = all.findIndex((entry) => entry[0] === name && entry[1] === value);
    if (whole >= 0 && this.#chance(0.8)) return Buffer.from(integer(whole + 1, 0x7f, 0x80));
    const named = this.#chance(0.8) ? all.findIndex((entry) => entry[0] === name) + 1 : 0;
    const isAdded = this.#chance(0.6);
    const never = this.#chance(0.3) ? 0x10 : 0;
    const head = isAdded ? integer(named, 0x3f, 0x40) : integer(named, 0x0f, never);
    const parts: Buffer[] = [Buffer.from(head)];
    if (named === 0) parts.push(string(name, this.#chance(0.5)));
    parts.push(string(value, this.#chance(0.5)));
    if (isAdded) {
      this.#table.unshift([name, value]);
      this.#evict();
    }
    return Buffer.concat(parts);
  }

  #evict(): void {
    let bytes = 0;
    this.#table = this.#table.filter(([name, value]) => {
      bytes += name.length + value.length + 32;
      return bytes <= this.#maxBytes;
    });
  }

  #chance(probability: number): boolean {
    return this.#random() < probability;
  }
}
