import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withoutMemory, withoutPodMemory } from '../src/memory/freed-memory.ts';
import { type MemoryBlock, type MemoryState, takeMemory } from '../src/memory/memory-state.ts';
import { unusedMemory } from '../src/memory/starting-memory.ts';
import { encodeMemoryState } from '../src/state/memory-checkpoint.ts';
import { machineOf } from './builders.ts';
import { withoutMemoryByBlocks } from './memory-by-blocks.ts';

const MI = 2 ** 20;
const unused = unusedMemory(machineOf({ nodesPerSocket: 2, memoryGi: 1 }), new Map());

/** Returns the state in which these containers have memory, taken in this order. */
function stateOf(
  containers: readonly { readonly uid: string; readonly name: string; readonly blocks: readonly MemoryBlock[] }[],
  wholePods: ReadonlySet<string>,
): MemoryState {
  const assignments = new Map<string, Map<string, readonly MemoryBlock[]>>();
  for (const { uid, name, blocks } of containers) {
    assignments.set(uid, (assignments.get(uid) ?? new Map<string, readonly MemoryBlock[]>()).set(name, blocks));
  }
  const pods = new Map(
    [...assignments].flatMap(([uid, of]) => (wholePods.has(uid) ? [[uid, [...of.values()].flat()]] : [])),
  );
  const nodes = containers.flatMap(({ blocks }) => blocks).reduce(takeMemory, unused);
  return { nodes, assignments, ...(pods.size > 0 && { pods }) };
}

const block: fc.Arbitrary<MemoryBlock> = fc.record({
  nodes: fc.subarray([0, 1, 2, 3], { minLength: 1 }),
  resource: fc.constantFrom('memory', 'hugepages-2Mi'),
  bytes: fc.integer({ min: 0, max: 12 }).map((count) => count * 64 * MI),
});

const container = fc.record({
  uid: fc.constantFrom('a', 'b', 'c', 'd'),
  name: fc.constantFrom('init', 'main', 'side'),
  blocks: fc.array(block, { maxLength: 3 }),
});

describe('freed memory', () => {
  test('the memory state after freed containers is the same as when each block is added up by itself', () => {
    const drawn = fc.record({
      containers: fc.uniqueArray(container, { selector: ({ uid, name }) => `${uid} ${name}`, maxLength: 12 }),
      wholePods: fc.subarray(['a', 'b']).map((uids) => new Set(uids)),
      freed: fc.shuffledSubarray(
        ['a', 'b', 'c', 'd'].flatMap((uid) => ['init', 'main', 'side'].map((name) => [uid, name])),
      ),
    });
    fc.assert(
      fc.property(drawn, ({ containers, wholePods, freed }) => {
        let state = stateOf(containers, wholePods);
        let expected = state;
        for (const [uid = '', name = ''] of freed) {
          state = withoutMemory(state, uid, name);
          expected = withoutMemoryByBlocks(expected, uid, name);
          expect(state).toEqual(expected);
        }
        const fileOf = (one: MemoryState): string => encodeMemoryState({ policyName: 'Static', ...one });
        expect(fileOf(state)).toBe(fileOf(expected));
      }),
      { numRuns: 2000 },
    );
  });

  test('freeing the memory of pods reads the blocks of a pod that stays at most once', () => {
    let reads = 0;
    class CountedMap<K, V> extends Map<K, V> {
      override values(): MapIterator<V> {
        reads += 1;
        return super.values();
      }
    }
    const containers = Array.from({ length: 20 }, (_, index) => ({
      uid: `pod${index}`,
      name: 'main',
      blocks: [{ nodes: [index % 2], resource: 'memory', bytes: MI }],
    }));
    const { nodes, assignments } = stateOf(containers, new Set());
    const stays = new CountedMap(assignments.get('pod0'));
    let state: MemoryState = { nodes, assignments: new Map([...assignments, ['pod0', stays] as const]) };
    for (const { uid } of containers.slice(1)) state = withoutPodMemory(state, uid);
    expect([...state.assignments.keys()]).toEqual(['pod0']);
    expect(reads).toBe(1);
  });
});
