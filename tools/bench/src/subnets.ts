/** 10.224.0.0/24 to 10.239.255.0/24. */
const FIRST = 224;
const COUNT = 16 * 256;

/**
 * Two /24 networks for pods, of which the machine has no address.
 * @param seed where to begin to look, so that two runs at once choose different ones
 * @throws RangeError where all are taken
 */
export function freeSubnets(seed: number, taken: readonly string[]): readonly [string, string] {
  const free: string[] = [];
  for (let step = 0; step < COUNT && free.length < 2; step++) {
    const index = (2 * seed + step) % COUNT;
    const prefix = `10.${FIRST + Math.floor(index / 256)}.${index % 256}.`;
    if (!taken.some((address) => address.startsWith(prefix))) free.push(`${prefix}0/24`);
  }
  const [first, second] = free;
  if (first === undefined || second === undefined) throw new RangeError('every network from 10.224 to 10.239 is taken');
  return [first, second];
}
