/**
 * A /24 of private addresses for the pods of a run: the same one for the same seed, as long as no address of the machine
 * is in it.
 * @param seed random bytes, two at least
 * @param taken the machine's own addresses
 */
export function freeSubnet(seed: Uint8Array, taken: readonly string[]): string {
  const start = ((seed[0] ?? 0) << 8) | (seed[1] ?? 0);
  for (let step = 0; step < CANDIDATES; step++) {
    const index = (start + step) % CANDIDATES;
    const prefix = `10.${200 + Math.floor(index / 256)}.${index % 256}.`;
    if (!taken.some((address) => address.startsWith(prefix))) return `${prefix}0/24`;
  }
  throw new RangeError('every subnet from 10.200.0.0 to 10.247.255.0 is taken');
}

/** 10.200.0.0/24 to 10.247.255.0/24: above what clouds and cluster networks use by default. */
const CANDIDATES = 48 * 256;
