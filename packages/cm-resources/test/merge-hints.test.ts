import type { TopologyHint } from '@node-agent/contracts';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hintLists, mergeHints } from '../src/topology/merge-hints.ts';
import { isNarrower, maskOf, nodeCount, nodesOf, subsets } from '../src/topology/numa-mask.ts';
import { parseTopologyOptions } from '../src/topology/topology-options.ts';
import { topologyPolicy } from '../src/topology/topology-policy.ts';
import { machineOf } from './builders.ts';

const hint = (nodes: readonly number[] | undefined, preferred: boolean): TopologyHint => ({ nodes, preferred });
const any = hint(undefined, true);
const defaults = parseTopologyOptions();
const two = machineOf().nodes;

describe('subsets', () => {
  test('subsets yields all non-empty subsets, smaller ones first', () => {
    expect([...subsets([0, 2, 5])]).toEqual([[0], [2], [5], [0, 2], [0, 5], [2, 5], [0, 2, 5]]);
  });

  test('NUMA masks are ordered by number of nodes, then by the lowest nodes', () => {
    expect(isNarrower(maskOf([3]), maskOf([0, 1]))).toBe(true);
    expect(isNarrower(maskOf([0, 1]), maskOf([0, 2]))).toBe(true);
    expect(isNarrower(maskOf([1]), maskOf([1]))).toBe(false);
    expect(nodesOf(maskOf([70, 3]))).toEqual([3, 70]);
  });
});

describe('topology policies', () => {
  const cpu = (hints: readonly TopologyHint[] | undefined) => new Map([['cpu', hints]]);
  test.each([
    ['best-effort', 'admits a resource that no node can give', [cpu([])], [0, 1], false, true],
    ['restricted', 'rejects a resource that no node can give', [cpu([])], [0, 1], false, false],
    [
      'best-effort',
      'prefers the node that both resources prefer',
      [
        cpu([hint([0], true), hint([1], true), hint([0, 1], false)]),
        new Map([['gpu', [hint([1], true), hint([0, 1], false)]]]),
      ],
      [1],
      true,
      true,
    ],
    [
      'restricted',
      'rejects resources that prefer different nodes',
      [cpu([hint([0], true)]), new Map([['gpu', [hint([1], true)]]])],
      [0, 1],
      false,
      false,
    ],
    ['restricted', 'admits a resource that needs both nodes', [cpu([hint([0, 1], true)])], [0, 1], true, true],
    [
      'single-numa-node',
      'rejects a resource that needs both nodes',
      [cpu([hint([0, 1], true)])],
      undefined,
      false,
      false,
    ],
    [
      'single-numa-node',
      'admits a resource on one node',
      [cpu([hint([1], true), hint([0, 1], false)])],
      [1],
      true,
      true,
    ],
    [
      'single-numa-node',
      'admits a pod without preferences on any node',
      [new Map(), cpu(undefined)],
      undefined,
      true,
      true,
    ],
  ] as const)('topology policy %s %s', (name, _what, providers, nodes, preferred, admit) => {
    expect(topologyPolicy(name, two, defaults).merge(providers)).toEqual({ affinity: { nodes, preferred }, admit });
  });

  test('prefer-closest-numa-nodes prefers close NUMA nodes to low ones', () => {
    const far = [10, 50, 50, 20];
    const nodes = machineOf({ nodesPerSocket: 2 }).nodes.map((node) => ({
      ...node,
      distances: new Map(far.map((_, other) => [other, far[Math.abs(other - node.id)] ?? 0] as const)),
    }));
    const pairs = [...subsets([0, 1, 2, 3])].filter(({ length }) => length === 2).map((pair) => hint(pair, true));
    const options = { ...defaults, preferClosestNumaNodes: true };
    expect(topologyPolicy('best-effort', nodes, options).merge([cpu(pairs)]).affinity.nodes).toEqual([0, 3]);
    expect(topologyPolicy('best-effort', nodes, defaults).merge([cpu(pairs)]).affinity.nodes).toEqual([0, 1]);
  });

  test('topologyPolicy rejects a machine with more than eight NUMA nodes, unless max-allowable-numa-nodes allows them', () => {
    const { nodes } = machineOf({ sockets: 9, coresPerNode: 1 });
    const policy = (options: Record<string, string>) =>
      topologyPolicy('restricted', nodes, parseTopologyOptions(options));
    expect(() => policy({})).toThrow('unsupported on machines with more than 8 NUMA Nodes');
    expect(policy({ 'max-allowable-numa-nodes': '9' }).name).toBe('restricted');
  });

  test('topologyPolicy rejects prefer-closest-numa-nodes on a machine without distances', () => {
    const nodes = [{ id: 0, cores: [], memoryBytes: 0, hugePages: [] }];
    const options = { ...defaults, preferClosestNumaNodes: true };
    expect(() => topologyPolicy('restricted', nodes, options)).toThrow('error getting NUMA distances');
  });
});

test.each([
  [{ 'max-allowable-numa-nodes': '7' }, 'the minimum value of "max-allowable-numa-nodes" should not be less than 8'],
  [{ 'max-allowable-numa-nodes': 'x' }, 'unable to convert policy option to integer "max-allowable-numa-nodes"'],
  [
    { 'prefer-closest-numa-nodes': 'maybe' },
    'bad value for option "prefer-closest-numa-nodes": strconv.ParseBool: parsing "maybe"',
  ],
  [{ closest: 'true' }, 'unknown Topology Manager Policy option: "closest"'],
])('topologyPolicy rejects the options %j', (options, message) => {
  expect(() => parseTopologyOptions(options as Record<string, string>)).toThrow(message);
});

/** Merges hints by their definition: tries each combination of one hint per list, as upstream does (`HintMerger`). */
function byDefinition(allNodes: readonly number[], lists: readonly (readonly TopologyHint[])[]): TopologyHint {
  const wanted = Math.max(
    0,
    ...lists.map((list) => {
      const counts = list.flatMap(({ nodes }) => (nodes ? [nodes.length] : []));
      return counts.length === 0 ? 0 : Math.min(...counts);
    }),
  );
  let best: { mask: bigint; preferred: boolean } | undefined;
  const visit = (at: number, chosen: readonly TopologyHint[]): void => {
    const list = lists[at];
    if (list !== undefined) {
      for (const one of list) visit(at + 1, [...chosen, one]);
      return;
    }
    const masks = chosen.flatMap(({ nodes }) => (nodes ? [maskOf(nodes)] : []));
    const mask = masks.reduce((all, one) => all & one, maskOf(allNodes));
    if (mask === 0n) return;
    const preferred = chosen.every((one) => one.preferred) && masks.every((one) => one === masks[0]);
    const rank = (of: { mask: bigint; preferred: boolean }): readonly (number | bigint)[] => {
      const count = nodeCount(of.mask);
      if (of.preferred) return [0, 0, 0, count, of.mask];
      return [1, count > wanted ? 1 : 0, Math.abs(wanted - count), count, of.mask];
    };
    const candidate = { mask, preferred };
    if (best === undefined || isLess(rank(candidate), rank(best))) best = candidate;
  };
  visit(0, []);
  return best ? { nodes: nodesOf(best.mask), preferred: best.preferred } : { nodes: allNodes, preferred: false };
}

function isLess(a: readonly (number | bigint)[], b: readonly (number | bigint)[]): boolean {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at >= 0 && (a[at] ?? 0) < (b[at] ?? 0);
}

test('merging hints has the same result as trying every combination', () => {
  const nodes = [0, 1, 2, 3];
  const masks = [...subsets(nodes)];
  const hints = fc.oneof(
    { weight: 6, arbitrary: fc.record({ nodes: fc.constantFrom(...masks), preferred: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ nodes: fc.constant(undefined), preferred: fc.boolean() }) },
  );
  fc.assert(
    fc.property(fc.array(fc.array(hints, { maxLength: 5 }), { maxLength: 4 }), (lists) => {
      expect(mergeHints(nodes, lists)).toEqual(byDefinition(nodes, lists));
    }),
    { numRuns: 1000 },
  );
});

test('merging hints of four resources on eight nodes takes time that grows with the number of hints', () => {
  const nodes = [0, 1, 2, 3, 4, 5, 6, 7];
  const hints = [...subsets(nodes)].map((of) => hint(of, of.length === 2));
  // Upstream would try 255^4 combinations.
  expect(mergeHints(nodes, [hints, hints, hints, hints])).toEqual({ nodes: [0, 1], preferred: true });
});

test('a hint provider without hints has no preference', () => {
  expect(hintLists([new Map()])).toEqual([[any]]);
  expect(hintLists([new Map([['cpu', undefined]])])).toEqual([[any]]);
  expect(hintLists([new Map([['cpu', []]])])).toEqual([[hint(undefined, false)]]);
});
