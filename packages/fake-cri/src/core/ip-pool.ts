/** Allocates addresses of one IPv4 or IPv6 range in round-robin order, as the CNI plugin host-local does. */
export class IpPool {
  readonly #base: bigint;
  readonly #size: bigint;
  readonly #v6: boolean;
  readonly #used = new Set<bigint>();
  #last = 1n;

  /**
   * Creates a pool of the addresses of `cidr`.
   * @throws TypeError if `cidr` is not an address with a prefix length that leaves room for pods
   */
  constructor(cidr: string) {
    const [address = '', prefix = ''] = cidr.split('/');
    this.#v6 = address.includes(':');
    const bits = this.#v6 ? 128 : 32;
    const length = /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
    const base = this.#v6 ? parseV6(address) : parseV4(address);
    if (base === undefined || !(length >= 0 && length <= bits - 2)) {
      throw new TypeError(`pod CIDR ${cidr}: must be an address range with room for pods`);
    }
    this.#size = 1n << BigInt(bits - length);
    this.#base = base - (base % this.#size);
  }

  /**
   * Returns a free address, or `undefined` if all are in use. The first two addresses and the last are never allocated.
   */
  allocate(): string | undefined {
    const usable = this.#size - 3n;
    if (usable <= 0n || BigInt(this.#used.size) >= usable) return undefined;
    do {
      this.#last = this.#last + 1n >= this.#size - 1n ? 2n : this.#last + 1n;
    } while (this.#used.has(this.#last));
    this.#used.add(this.#last);
    return this.#v6 ? formatV6(this.#base + this.#last) : formatV4(this.#base + this.#last);
  }

  release(address: string): void {
    const value = this.#v6 ? parseV6(address) : parseV4(address);
    if (value !== undefined) this.#used.delete(value - this.#base);
  }
}

function parseV4(text: string): bigint | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256)) return undefined;
  return parts.reduce((value, part) => value * 256n + BigInt(part), 0n);
}

function formatV4(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.');
}

function parseV6(text: string): bigint | undefined {
  const [head = '', tail, extra] = text.split('::');
  if (extra !== undefined) return undefined;
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const missing = 8 - left.length - right.length;
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  const groups = [...left, ...Array<string>(missing).fill('0'), ...right];
  if (!groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  return groups.reduce((value, group) => (value << 16n) + BigInt(`0x${group}`), 0n);
}

function formatV6(value: bigint): string {
  const groups = Array.from({ length: 8 }, (_, at) => ((value >> BigInt(112 - 16 * at)) & 0xffffn).toString(16));
  // RFC 5952: `::` replaces the first longest run of two or more zero groups.
  let best = { start: -1, length: 1 };
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (groups[start + length] === '0') length++;
    if (length > best.length) best = { start, length };
  }
  if (best.start < 0) return groups.join(':');
  return `${groups.slice(0, best.start).join(':')}::${groups.slice(best.start + best.length).join(':')}`;
}
