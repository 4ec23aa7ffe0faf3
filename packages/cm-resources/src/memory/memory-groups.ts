import { oncePer } from '@node-agent/pod-spec';
import type { MemoryBlock, MemoryGroup, MemoryState } from './memory-state.ts';

/** Memory groups by their NUMA nodes and resource. */
type MemoryGroups = ReadonlyMap<string, MemoryGroup>;

/** Groups of each state, by its assignments. States are immutable, but have the same assignments with other nodes. */
const known = new WeakMap<
  MemoryState['assignments'],
  { readonly pods: MemoryState['pods']; readonly groups: MemoryGroups }
>();

/**
 * Returns the blocks of all pods, added up by NUMA nodes and resource. The sums are cached per state and per pod, so
 * that a call costs at most a few steps per pod.
 */
export function memoryGroups(state: MemoryState): readonly MemoryGroup[] {
  return [...groupsOf(state).values()];
}

/**
 * Derives the groups of a state from those of an earlier state, so that the next call of {@link memoryGroups} does not
 * add up the memory of all pods again.
 * @param freed the blocks that only the earlier state has
 * @returns the later state
 */
export function withoutBlocks(before: MemoryState, after: MemoryState, freed: readonly MemoryBlock[]): MemoryState {
  const groups = new Map(groupsOf(before));
  for (const block of freed) {
    const key = keyOf(block);
    const { bytes = 0, blocks = 0 } = groups.get(key) ?? {};
    if (blocks > 1) groups.set(key, { ...block, bytes: bytes - block.bytes, blocks: blocks - 1 });
    else groups.delete(key);
  }
  known.set(after.assignments, { pods: after.pods, groups });
  return after;
}

/**
 * Returns the memory of all pods in the order in which it is taken from the NUMA nodes: few nodes first, because a
 * container that has a node alone can get its memory only there.
 */
export function inTakingOrder(state: MemoryState): readonly MemoryGroup[] {
  const groups = memoryGroups(state);
  const taken = isOrderFree(groups) ? groups : singleBlocks(state);
  return taken.toSorted((a, b) => a.nodes.length - b.nodes.length);
}

function groupsOf({ assignments, pods }: MemoryState): MemoryGroups {
  const found = known.get(assignments);
  if (found !== undefined && found.pods === pods) return found.groups;
  const groups = new Map<string, MemoryGroup>();
  for (const [uid, containers] of assignments) {
    // The blocks of the containers are parts of the pod's blocks if the pod has memory as a whole.
    const ofPod = pods?.get(uid);
    const own = ofPod === undefined ? containerGroups(containers) : blockGroups(ofPod);
    for (const [key, group] of own) add(groups, key, group);
  }
  known.set(assignments, { pods, groups });
  return groups;
}

const containerGroups = oncePer((containers: ReadonlyMap<string, readonly MemoryBlock[]>) =>
  grouped([...containers.values()].flat()),
);

const blockGroups = oncePer(grouped);

function grouped(blocks: readonly MemoryBlock[]): MemoryGroups {
  const groups = new Map<string, MemoryGroup>();
  for (const block of blocks) add(groups, keyOf(block), { ...block, blocks: 1 });
  return groups;
}

function keyOf({ nodes, resource }: MemoryBlock): string {
  return `${nodes.join()} ${resource}`;
}

function add(groups: Map<string, MemoryGroup>, key: string, group: MemoryGroup): void {
  const { bytes = 0, blocks = 0 } = groups.get(key) ?? {};
  groups.set(key, { ...group, bytes: bytes + group.bytes, blocks: blocks + group.blocks });
}

/**
 * Reports whether the order of blocks with equally many nodes does not matter. The order matters if two groups of equal
 * size share only some of their nodes: it decides which group gets the memory of the shared nodes. This kubelet creates
 * no such groups, but a stored state may have some.
 */
function isOrderFree(groups: readonly MemoryGroup[]): boolean {
  const groupAt = new Map<string, string>();
  return groups.every(({ nodes }) =>
    nodes.every((id) => {
      const [place, group] = [`${nodes.length} ${id}`, nodes.join()];
      const other = groupAt.get(place) ?? group;
      groupAt.set(place, group);
      return other === group;
    }),
  );
}

function singleBlocks({ assignments, pods }: MemoryState): readonly MemoryGroup[] {
  const blocks = [...assignments].flatMap(([uid, containers]) => pods?.get(uid) ?? [...containers.values()].flat());
  return blocks.map((block) => ({ ...block, blocks: 1 }));
}
