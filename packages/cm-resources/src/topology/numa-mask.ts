/** Set of NUMA nodes as bits: bit n stands for node n. Two masks compare as upstream's 64-bit masks do. */
export type NumaMask = bigint;

export function maskOf(nodes: Iterable<number>): NumaMask {
  let mask = 0n;
  for (const node of nodes) mask |= 1n << BigInt(node);
  return mask;
}

/** Returns the nodes of a mask, sorted ascending. */
export function nodesOf(mask: NumaMask): readonly number[] {
  const nodes: number[] = [];
  for (let rest = mask, node = 0; rest > 0n; rest >>= 1n, node++) if (rest & 1n) nodes.push(node);
  return nodes;
}

export function nodeCount(mask: NumaMask): number {
  let count = 0;
  for (let rest = mask; rest > 0n; rest &= rest - 1n) count++;
  return count;
}

/** Reports whether `mask` has fewer nodes than `than` or, if both have equally many, lower nodes (`IsNarrowerThan`). */
export function isNarrower(mask: NumaMask, than: NumaMask): boolean {
  const [count, other] = [nodeCount(mask), nodeCount(than)];
  return count === other ? mask < than : count < other;
}

/** Yields the non-empty subsets of the nodes, smaller ones first (`IterateBitMasks`). */
export function* subsets(nodes: readonly number[]): Generator<readonly number[], void, undefined> {
  for (let size = 1; size <= nodes.length; size++) yield* ofSize(nodes, size, 0);
}

function* ofSize(nodes: readonly number[], size: number, start: number): Generator<readonly number[], void, undefined> {
  if (size === 0) {
    yield [];
    return;
  }
  for (let index = start; index <= nodes.length - size; index++) {
    for (const rest of ofSize(nodes, size - 1, index + 1)) yield [nodes[index] as number, ...rest];
  }
}
