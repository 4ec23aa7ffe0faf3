/**
 * Returns a private /24 subnet for the pods of a run. The result is the same for the same seed, unless the machine has
 * an address in that subnet.
 * @param seed at least two random bytes
 * @param taken IP addresses of the machine
 * @throws RangeError if every candidate subnet is in use
 */
export function freeSubnet(seed: Uint8Array, taken: readonly string[]): string {
  const start = ((seed[0] ?? 0) << 8) | (seed[1] ?? 0);
  for (let step = 0; step < CANDIDATES; step++) {
    const index = (start + step) % CANDIDATES;
    const prefix = `10.${200 + Math.floor(index / 256)}.${index % 256}.`;
    if (!taken.some((address) => address.startsWith(prefix))) return `${prefix}0/24`;
  }
  throw new RangeError('every subnet from 10.200.0.0/24 to 10.247.255.0/24 is in use');
}

/**
 * Number of candidates, 10.200.0.0/24 to 10.247.255.0/24. The candidates are above the default ranges of clouds and
 * cluster networks.
 */
const CANDIDATES = 48 * 256;
