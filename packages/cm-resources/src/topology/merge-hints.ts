import type { TopologyHint, TopologyHints } from '@node-agent/contracts';
import { isNarrower, maskOf, type NumaMask, nodeCount, nodesOf } from './numa-mask.ts';

/** Returns the better one of two different masks. */
export type CompareMasks = (a: NumaMask, b: NumaMask) => NumaMask;

interface MaskHint {
  /** NUMA nodes of the hint; `undefined` means any nodes. */
  readonly mask: NumaMask | undefined;
  readonly preferred: boolean;
}

interface MergedHint {
  readonly mask: NumaMask;
  readonly preferred: boolean;
}

/** A combination of one hint of each resource so far. */
interface Combination extends MergedHint {
  /** Mask of the first hint that has a mask. In a preferred combination, all masks equal this one. */
  readonly first: NumaMask | undefined;
}

/** Returns one list of hints per resource and provider (`filterProvidersHints`, `topologymanager/policy.go`). */
export function hintLists(providers: readonly TopologyHints[]): readonly (readonly TopologyHint[])[] {
  return providers.flatMap((hints) =>
    hints.size === 0 ? [[{ nodes: undefined, preferred: true }]] : [...hints.values()].map(withDefault),
  );
}

function withDefault(hints: readonly TopologyHint[] | undefined): readonly TopologyHint[] {
  if (hints === undefined) return [{ nodes: undefined, preferred: true }];
  return hints.length === 0 ? [{ nodes: undefined, preferred: false }] : hints;
}

/**
 * Merges the hints of all resources: considers all combinations of one hint per resource, intersects the nodes of each,
 * and returns the best result (`HintMerger`, `pkg/kubelet/cm/topologymanager/policy.go`). A combination is preferred if
 * its hints are preferred and equal.
 * @param allNodes all NUMA nodes of the machine. If no combination has common nodes, these are the result, which is
 * then not preferred
 */
export function mergeHints(
  allNodes: readonly number[],
  lists: readonly (readonly TopologyHint[])[],
  better: CompareMasks = narrowest,
): TopologyHint & { readonly nodes: readonly number[] } {
  const all = maskOf(allNodes);
  const hints = lists.map((list) => list.map(({ nodes, preferred }) => ({ mask: nodes && maskOf(nodes), preferred })));
  const wanted = Math.max(0, ...hints.map(fewestNodes));
  let best: MergedHint | undefined;
  for (const merged of combined(all, hints)) {
    if (merged.mask !== 0n) best = best === undefined ? merged : betterHint(best, merged, wanted, better);
  }
  const { mask, preferred } = best ?? { mask: all, preferred: false };
  return { nodes: nodesOf(mask), preferred };
}

/** Returns the mask with fewer nodes or, if both have equally many, the one with lower nodes. */
export function narrowest(a: NumaMask, b: NumaMask): NumaMask {
  return isNarrower(a, b) ? a : b;
}

/**
 * Returns the distinct results of all combinations. Equal intermediate results are joined, because the number of
 * combinations is the product of the numbers of hints. The order of the results does not matter: {@link betterHint} is
 * a total order.
 */
function combined(all: NumaMask, lists: readonly (readonly MaskHint[])[]): Iterable<MergedHint> {
  let combinations: readonly Combination[] = [{ mask: all, preferred: true, first: undefined }];
  for (const list of lists) {
    const next = new Map<string, Combination>();
    for (const combination of combinations) {
      for (const hint of list) {
        const joined = join(combination, hint);
        next.set(joined.preferred ? `preferred ${joined.first}` : `${joined.mask}`, joined);
      }
    }
    combinations = [...next.values()];
  }
  return combinations;
}

function join({ mask, preferred, first }: Combination, hint: MaskHint): Combination {
  const same = hint.mask === undefined || first === undefined || first === hint.mask;
  return {
    mask: hint.mask === undefined ? mask : mask & hint.mask,
    preferred: preferred && hint.preferred && same,
    first: first ?? hint.mask,
  };
}

/** Returns the number of nodes of a list's narrowest hint; 0 if no hint has nodes. */
function fewestNodes(hints: readonly MaskHint[]): number {
  const counts = hints.flatMap(({ mask }) => (mask === undefined ? [] : [nodeCount(mask)]));
  return counts.length === 0 ? 0 : Math.min(...counts);
}

/**
 * Returns the better hint. A preferred hint always wins. Among hints that are not preferred, the winner is the hint
 * whose number of nodes is closest to `wanted`, the number that the most demanding resource needs. A hint with more
 * nodes than `wanted` loses against one with fewer.
 */
function betterHint(current: MergedHint, candidate: MergedHint, wanted: number, better: CompareMasks): MergedHint {
  if (current.preferred !== candidate.preferred) return current.preferred ? current : candidate;
  const chosen = (): MergedHint =>
    candidate.mask !== current.mask && better(current.mask, candidate.mask) === candidate.mask ? candidate : current;
  if (current.preferred) return chosen();
  const [now, then] = [nodeCount(current.mask), nodeCount(candidate.mask)];
  if (now > wanted || now === then) return chosen();
  if (now === wanted || then > wanted) return current;
  return then > now ? candidate : current;
}
