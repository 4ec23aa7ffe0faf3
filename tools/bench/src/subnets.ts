/** Second number of the first subnet's address: the subnets are 10.224.0.0/24 to 10.239.255.0/24. */
const FIRST = 224;
const COUNT = 16 * 256;

/**
 * Returns two /24 subnets for pods that contain no address of the machine.
 * @param seed start of the search, so that concurrent runs choose different subnets
 * @throws RangeError if all are taken
 */
export function freeSubnets(seed: number, taken: readonly string[]): readonly [string, string] {
  const free: string[] = [];
  for (let step = 0; step < COUNT && free.length < 2; step++) {
    const index = (2 * seed + step) % COUNT;
    const prefix = `10.${FIRST + Math.floor(index / 256)}.${index % 256}.`;
    if (!taken.some((address) => address.startsWith(prefix))) free.push(`${prefix}0/24`);
  }
  const [first, second] = free;
  if (first === undefined || second === undefined)
    throw new RangeError('find subnets: all from 10.224.0.0/24 to 10.239.255.0/24 are taken');
  return [first, second];
}
