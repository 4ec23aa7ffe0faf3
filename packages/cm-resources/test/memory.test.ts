import type { TopologyHint } from '@node-agent/contracts';
import type { Container, Pod } from '@node-agent/pod-spec';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { containersOf } from '../src/containers-of.ts';
import { withoutMemory, withoutPodMemory } from '../src/memory/freed-memory.ts';
import { memoryHints } from '../src/memory/memory-hints.ts';
import { MemoryReuse } from '../src/memory/memory-reuse.ts';
import {
  blocksOf,
  type MemoryBlock,
  type MemoryNode,
  type MemoryState,
  type MemoryTable,
  takeMemory,
} from '../src/memory/memory-state.ts';
import { requestedMemoryOfPod } from '../src/memory/requested-memory.ts';
import { hugePageResource, startingMemoryState, unusedMemory } from '../src/memory/starting-memory.ts';
import { allocateMemory, containerMemoryHints, podMemoryHints } from '../src/memory/static-memory.ts';
import { containerOf, machineOf, podOf, sidecarOf } from './builders.ts';

const GI = 2 ** 30;
const MI = 2 ** 20;
const reserved = new Map([0, 1].map((id) => [id, new Map([['memory', GI - 64 * 2 * MI]])] as const));
/** Two nodes with 3Gi of memory for containers and 128Mi of huge pages each. */
const unused: MemoryState = { nodes: unusedMemory(machineOf(), reserved), assignments: new Map() };
const anyNodes: TopologyHint = { nodes: undefined, preferred: false };

/** Allocates all containers of a pod. */
function allocated(state: MemoryState, pod: Pod, affinity = anyNodes): MemoryState {
  const reuse = new MemoryReuse();
  return containersOf(pod).reduce(
    (left, container) => allocateMemory(left, pod, container, affinity, reuse, false),
    state,
  );
}

function pod(uid: string, memory: string, more: Record<string, string> = {}): Pod {
  return podOf(uid, [containerOf('main', '1', memory, more)]);
}

function nodesOf(state: MemoryState, uid: string, container = 'main'): readonly number[] | undefined {
  return blocksOf(state, uid, container)?.[0]?.nodes;
}

function free(state: MemoryState): readonly number[] {
  return [...state.nodes.values()].map(({ tables }) => (tables.get('memory')?.free ?? 0) / GI);
}

describe('memory allocation', () => {
  test('the static memory policy takes memory from the lowest NUMA node that has enough', () => {
    const first = allocated(unused, pod('a', '2Gi'));
    const second = allocated(first, pod('b', '2Gi'));
    expect([nodesOf(second, 'a'), nodesOf(second, 'b')]).toEqual([[0], [1]]);
    expect(free(second)).toEqual([1, 1]);
  });

  test('memory comes from two NUMA nodes if one has too little; the two nodes are then allocated only as a group', () => {
    const grouped = allocated(unused, pod('a', '4Gi'));
    expect(nodesOf(grouped, 'a')).toEqual([0, 1]);
    expect(free(grouped)).toEqual([0, 2]);
    expect(grouped.nodes.get(1)?.cells).toEqual([0, 1]);
    expect(nodesOf(allocated(grouped, pod('b', '1Gi')), 'b')).toEqual([0, 1]);
    expect(() => allocated(grouped, pod('b', '3Gi'))).toThrow('failed to get the default NUMA affinity');
  });

  test('memory of several NUMA nodes is rejected while one of the nodes is used alone', () => {
    const used = allocated(unused, pod('a', '1Gi'));
    expect(() => allocated(used, pod('b', '4Gi'))).toThrow('no NUMA nodes with enough memory is available');
    expect(nodesOf(allocated(withoutPodMemory(used, 'a'), pod('b', '4Gi')), 'b')).toEqual([0, 1]);
  });

  test('memory comes from the nodes of the topology hint, and from more nodes if those have too little', () => {
    const onOne = { nodes: [1], preferred: true };
    expect(nodesOf(allocated(unused, pod('a', '1Gi'), onOne), 'a')).toEqual([1]);
    expect(nodesOf(allocated(unused, pod('a', '4Gi'), onOne), 'a')).toEqual([0, 1]);
  });

  test('huge pages come from the same NUMA nodes as memory', () => {
    const state = allocated(unused, pod('a', '1Gi', { 'hugepages-2Mi': '100Mi' }));
    expect(blocksOf(state, 'a', 'main')).toEqual([
      { nodes: [0], resource: 'hugepages-2Mi', bytes: 100 * MI },
      { nodes: [0], resource: 'memory', bytes: GI },
    ]);
    const second = allocated(state, pod('b', '1Gi', { 'hugepages-2Mi': '100Mi' }));
    expect(nodesOf(second, 'b')).toEqual([1]);
    expect(second.nodes.get(0)?.assignments).toBe(2);
  });

  test('a pod that is not Guaranteed or has pod-level resources gets no memory of its own', () => {
    const burstable = podOf('a', [{ name: 'main', image: 'x', resources: { requests: { memory: '1Gi' } } }]);
    const amounts = { cpu: '1', memory: '1Gi' };
    const podLevel = podOf('b', [containerOf('main', '1', '1Gi')]);
    const resources = { requests: amounts, limits: amounts };
    const both = [burstable, { ...podLevel, spec: { ...podLevel.spec, resources } }];
    expect(both.map((one) => allocated(unused, one as Pod))).toEqual([unused, unused]);
    expect(podMemoryHints(unused, both[1] as Pod, false).size).toBe(0);
  });

  test('a container that already has allocated memory keeps the allocation', () => {
    const state = allocated(unused, pod('a', '1Gi'));
    expect(allocated(state, pod('a', '1Gi'))).toEqual(state);
  });
});

describe('memory of init containers', () => {
  const reusing = podOf('a', [containerOf('main', '1', '1Gi')], [containerOf('init', '1', '2Gi')]);

  test('the containers after an init container reuse its memory', () => {
    const state = allocated(unused, reusing);
    expect(free(state)).toEqual([1, 3]);
    expect([blocksOf(state, 'a', 'init')?.[0]?.bytes, blocksOf(state, 'a', 'main')?.[0]?.bytes]).toEqual([GI, GI]);
  });

  test('the removal of an init container frees the memory that no later container reuses', () => {
    expect(free(withoutMemory(allocated(unused, reusing), 'a', 'init'))).toEqual([2, 3]);
  });

  test('a sidecar keeps its memory while the main containers run', () => {
    const state = allocated(unused, podOf('a', [containerOf('main', '1', '1Gi')], [sidecarOf('side', '1', '2Gi')]));
    expect(free(state)).toEqual([0, 3]);
  });
});

test.each([
  [
    'the sum of containers and sidecars',
    [containerOf('a', '1', '1Gi'), containerOf('b', '1', '2Gi')],
    [sidecarOf('s', '1', '1Gi')],
    4,
  ],
  [
    'an init container with the sidecars before it',
    [containerOf('a', '1', '1Gi')],
    [sidecarOf('s', '1', '1Gi'), containerOf('i', '1', '4Gi')],
    5,
  ],
  [
    'an init container without the sidecars after it',
    [containerOf('a', '1', '1Gi')],
    [containerOf('i', '1', '4Gi'), sidecarOf('s', '1', '1Gi')],
    4,
  ],
] as [string, Container[], Container[], number][])(
  'the memory request of a pod is %s',
  (_name, containers, inits, gi) => {
    expect(requestedMemoryOfPod(podOf('a', containers, inits), false).get('memory')).toBe(gi * GI);
  },
);

describe('memory hints', () => {
  test('memory hints prefer one NUMA node, and exclude nodes without enough free memory', () => {
    const used = allocated(unused, pod('a', '2Gi')).nodes;
    expect(memoryHints(used, new Map([['memory', 2 * GI]]))).toEqual([{ nodes: [1], preferred: true }]);
    expect(memoryHints(unused.nodes, new Map([['memory', 2 * GI]]))).toEqual([
      { nodes: [0], preferred: true },
      { nodes: [1], preferred: true },
      { nodes: [0, 1], preferred: false },
    ]);
    expect(memoryHints(unused.nodes, new Map([['memory', 4 * GI]]))).toEqual([{ nodes: [0, 1], preferred: true }]);
  });

  test('the memory hint of a container with allocated memory is the NUMA nodes of this memory', () => {
    const state = allocated(unused, pod('a', '1Gi'), { nodes: [1], preferred: true });
    const hints = new Map([['memory', [{ nodes: [1], preferred: true }]]]);
    expect(podMemoryHints(state, pod('a', '1Gi'), false)).toEqual(hints);
    const [container] = pod('a', '1Gi').spec.containers;
    expect(containerMemoryHints(state, pod('a', '1Gi'), container as Container, new MemoryReuse(), false)).toEqual(
      hints,
    );
    // A request that differs from the allocated memory has no preference.
    expect(podMemoryHints(state, pod('a', '2Gi'), false).size).toBe(0);
  });
});

test('hugePageResource names huge pages by their size', () => {
  expect([64 * 1024, 2 * MI, 32 * MI, GI].map(hugePageResource)).toEqual([
    'hugepages-64Ki',
    'hugepages-2Mi',
    'hugepages-32Mi',
    'hugepages-1Gi',
  ]);
});

describe('stored memory states', () => {
  const state = allocated(unused, pod('a', '4Gi'));
  test('a stored memory state is used if its blocks add up to the memory in use of each NUMA node', () => {
    expect(startingMemoryState(state, unused.nodes)).toBe(state);
  });

  test.each([
    ['without nodes', { ...state, nodes: new Map() }, 'machine state can not be empty when it has memory assignments'],
    [
      'with other amounts in use',
      { ...state, assignments: new Map() },
      'the expected machine state is different from the real one',
    ],
    [
      'of another machine',
      { ...state, nodes: new Map([...state.nodes].slice(0, 1)) },
      'the expected machine state is different',
    ],
    [
      'with a node that does not exist',
      withBlock({ nodes: [7], resource: 'memory', bytes: 1 }),
      'uses the NUMA that does not exist',
    ],
    [
      'with a resource that does not exist',
      withBlock({ nodes: [0], resource: 'hugepages-1Gi', bytes: 1 }),
      'uses memory resource that does not exist',
    ],
    [
      'with memory of no node',
      { ...withBlock({ nodes: [], resource: 'memory', bytes: 1 }), nodes: unused.nodes },
      '(pod: b, container: main) the memory assignment uses no NUMA node',
    ],
    [
      // The sums match, so upstream would accept this state.
      'with memory of the same node twice',
      stateWith({ nodes: [0, 0], resource: 'memory', bytes: 1 }),
      '(pod: b, container: main) the memory assignment uses a NUMA node twice',
    ],
  ] as const)('a stored memory state %s is rejected', (_name, stored, problem) => {
    expect(startingMemoryState(stored, unused.nodes)).toContain(problem);
  });

  // In the order of the state file, the single-node block comes last, whichever of the containers was admitted last.
  test.each([
    [
      'before',
      [
        { nodes: [1], bytes: GI },
        { nodes: [0, 1], bytes: 4 * GI },
      ],
    ],
    [
      'after',
      [
        { nodes: [0, 1], bytes: 4 * GI },
        { nodes: [1], bytes: GI },
      ],
    ],
  ])(
    'K1: a stored memory state is accepted if memory was allocated from a node alone %s it became part of a group',
    (_name, order) => {
      const blocks = order.map((one) => ({ ...one, resource: 'memory' }));
      const nodes = blocks.reduce(takeMemory, unused.nodes);
      const assignments = new Map(
        [...blocks]
          .sort((a, b) => b.nodes.length - a.nodes.length)
          .map((block, at) => [`${at}`, new Map([['main', [block]]])]),
      );
      const stored = { nodes, assignments };
      expect(startingMemoryState(stored, unused.nodes)).toBe(stored);
    },
  );

  /** Returns a state in which a container has only this block, and the amounts of the nodes include it. */
  function stateWith(block: MemoryBlock): MemoryState {
    return { ...withBlock(block), nodes: takeMemory(unused.nodes, block) };
  }

  function withBlock(block: { nodes: readonly number[]; resource: string; bytes: number }): MemoryState {
    return { ...state, assignments: new Map([['b', new Map([['main', [block]]])]]) };
  }
});

test('N12: memory that a container has on one node alone does not become free when a container of a group with that node is removed', () => {
  const both = { nodes: [0, 1], preferred: false };
  const first = allocated(allocated(unused, pod('first', '3Gi'), both), pod('second', '1Gi'), both);
  const grouped = withoutPodMemory(allocated(first, pod('third', '1Gi'), both), 'first');
  // The memory of the second and third pod comes from node 1.
  expect(free(grouped)).toEqual([3, 1]);
  const alone = allocated(grouped, pod('alone', '3Gi'), { nodes: [0], preferred: false });
  const left = withoutPodMemory(alone, 'second');
  expect(free(left)).toEqual([0, 2]);
  expect(startingMemoryState(left, unused.nodes)).toBe(left);
  // The Go kubelet would have freed the memory of node 0 and would have stored these amounts.
  const [node0, node1] = free(left).map((_, id) => left.nodes.get(id) as MemoryNode);
  const inUse = (node: MemoryNode | undefined, bytes: number): MemoryNode => {
    const table = node?.tables.get('memory') as MemoryTable;
    const memory = { ...table, reserved: bytes, free: table.allocatable - bytes };
    return { ...(node as MemoryNode), tables: new Map(node?.tables).set('memory', memory) };
  };
  const stored = { ...left, nodes: new Map([inUse(node0, 2 * GI), inUse(node1, 2 * GI)].entries()) };
  expect(startingMemoryState(stored, unused.nodes)).toEqual(left);
});

test('N12: no memory is allocated twice, and all memory is free when all pods are gone', () => {
  const sizes = fc.constantFrom('256Mi', '512Mi', '1Gi', '2Gi', '3Gi', '4Gi');
  const inits = fc.array(fc.record({ size: sizes, isSidecar: fc.boolean() }), { maxLength: 3 });
  const drawnPod = fc.record({
    ...{ inits, main: sizes, starts: fc.boolean(), restarts: fc.boolean(), leaves: fc.boolean() },
    affinity: fc.constantFrom(undefined, [0], [1], [0, 1]),
    isRejected: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(drawnPod, { maxLength: 12 }), (drawn) => {
      let state = unused;
      const running: Pod[] = [];
      const tryAllocate = (pod: Pod, nodes?: readonly number[]): boolean => {
        try {
          state = allocated(state, pod, { nodes, preferred: false });
          return true;
        } catch {
          // The pod is rejected, because there is too little free memory.
          return false;
        }
      };
      for (const [index, { inits, main, affinity, isRejected, starts, restarts, leaves }] of drawn.entries()) {
        const initContainers = inits.map(({ size, isSidecar }, at) =>
          isSidecar ? sidecarOf(`init${at}`, '1', size) : containerOf(`init${at}`, '1', size),
        );
        const pod = podOf(`p${index}`, [containerOf('main', '1', main)], initContainers);
        if (tryAllocate(pod, affinity)) {
          // A pod may still be rejected because of its CPUs or devices.
          if (isRejected) state = withoutPodMemory(state, pod.metadata.uid);
          else running.push(pod);
        }
        // The memory of init containers is free when the pod's main container starts.
        const finished = starts ? inits.flatMap(({ isSidecar }, at) => (isSidecar ? [] : [`init${at}`])) : [];
        for (const name of finished) state = withoutMemory(state, pod.metadata.uid, name);
        for (const { tables } of state.nodes.values()) {
          for (const table of tables.values()) {
            expect(table.free).toBeGreaterThanOrEqual(0);
            expect(table.free + table.reserved).toBe(table.allocatable);
          }
        }
        // A node has at least the memory in use that containers have on this node alone.
        for (const [id, { tables }] of state.nodes) {
          const blocks = [...state.assignments.values()].flatMap((containers) => [...containers.values()].flat());
          const alone = blocks.filter(({ nodes }) => nodes.length === 1 && nodes.includes(id));
          const bytes = alone.reduce((all, block) => all + block.bytes, 0);
          expect(tables.get('memory')?.reserved).toBeGreaterThanOrEqual(bytes);
        }
        const first = leaves ? running.shift() : undefined;
        if (first !== undefined) state = withoutPodMemory(state, first.metadata.uid);
        expect(startingMemoryState(state, unused.nodes)).toBe(state);
        // A restarted kubelet admits its pods again.
        if (restarts) for (const pod of running) tryAllocate(pod);
      }
      expect(running.reduce((left, { metadata }) => withoutPodMemory(left, metadata.uid), state)).toEqual(unused);
    }),
    { numRuns: 500 },
  );
});
