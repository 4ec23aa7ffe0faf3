import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { takeDistributed } from '../src/cpu/take-distributed.ts';
import { takePacked } from '../src/cpu/take-packed.ts';
import { CpuSet } from '../src/cpuset/cpu-set.ts';
import { CpuTopology, groupCpus } from '../src/machine/cpu-topology.ts';
import { machineOf } from './builders.ts';

const packed = { order: 'packed', alignUncoreCaches: false } as const;

// Test machines: `dual` has 8 CPUs, with the cores 0/4, 1/5 on one socket and 2/6, 3/7 on the other; `single` has 8
// CPUs on one socket; `caches` has 16 CPUs, with four uncore caches of two cores each.
const dual = new CpuTopology(machineOf());
const single = new CpuTopology(machineOf({ sockets: 1, coresPerNode: 4 }));
const caches = new CpuTopology(machineOf({ sockets: 1, coresPerNode: 8, caches: 4 }));

describe('takePacked', () => {
  test.each([
    ['a whole core', single, '0-7', 2, '0,4'],
    ['one thread', single, '0-7', 1, '0'],
    ['the core with fewer free threads for one CPU', single, '1-7', 1, '4'],
    ['whole cores before single threads', single, '0-3,5-7', 3, '0-1,5'],
    ['a whole socket', dual, '0-7', 4, '0-1,4-5'],
    ['a whole socket and a core of the other', dual, '0-7', 6, '0-2,4-6'],
    ['the socket with fewer free CPUs first', dual, '1-7', 2, '1,5'],
    ['all CPUs', dual, '0-7', 8, '0-7'],
    ['nothing', dual, '0-7', 0, ''],
  ] as const)('packed CPU allocation takes %s', (_name, topology, available, count, expected) => {
    expect(`${takePacked(topology, CpuSet.parse(available), count, packed)}`).toBe(expected);
  });

  test('packed CPU allocation takes threads of different cores with distribute-cpus-across-cores', () => {
    expect(`${takePacked(single, single.cpus, 4, { ...packed, order: 'spread' })}`).toBe('0-3');
  });

  test.each([
    ['a whole cache', '0-15', 4, '0-1,8-9'],
    ['a part of one cache', '0-15', 2, '0,8'],
    ['an odd number of CPUs of one cache', '0-15', 3, '0-1,8'],
    ['the first cache in which the request fits', '0,2-15', 4, '2-3,10-11'],
    ['whole caches and a part of another one', '0-15', 6, '0-2,8-10'],
  ])('packed CPU allocation that is aligned with uncore caches takes %s', (_name, available, count, expected) => {
    const options = { ...packed, alignUncoreCaches: true };
    expect(`${takePacked(caches, CpuSet.parse(available), count, options)}`).toBe(expected);
  });

  test('packed CPU allocation rejects a request for more CPUs than are free', () => {
    const take = (): CpuSet => takePacked(dual, CpuSet.parse('0-2'), 4, packed);
    expect(take).toThrow('not enough cpus available to satisfy request: requested=4, available=3');
  });
});

describe('takeDistributed', () => {
  const quad = new CpuTopology(machineOf({ nodesPerSocket: 2, coresPerNode: 2, threads: 1 }));
  test.each([
    ['from one node if the request fits there', quad, '0-7', 2, 1, '0-1'],
    ['evenly from two nodes', quad, '0-7', 4, 1, '0-3'],
    ['evenly from four nodes', quad, '0-7', 8, 1, '0-7'],
    ['so that the free CPUs are most balanced afterwards', quad, '0,2-7', 3, 1, '2-4'],
    ['in whole cores', dual, '0-7', 8, 2, '0-7'],
    ['as packed allocation does if the request is not a multiple of a core', dual, '0-7', 3, 2, '0-1,4'],
  ] as const)('distributed CPU allocation takes CPUs %s', (_name, topology, available, count, groupSize, expected) => {
    const taken = takeDistributed(topology, CpuSet.parse(available), count, { order: 'packed', groupSize });
    expect(`${taken}`).toBe(expected);
  });

  test('distributed CPU allocation rejects a request for more CPUs than are free', () => {
    const take = (): CpuSet => takeDistributed(dual, CpuSet.parse('0-2'), 4, { order: 'packed', groupSize: 2 });
    expect(take).toThrow('requested=4, available=3');
  });
});

const machines = fc
  .record({
    sockets: fc.integer({ min: 1, max: 2 }),
    nodesPerSocket: fc.constantFrom(1, 2, 4),
    coresPerNode: fc.integer({ min: 1, max: 4 }),
    threads: fc.constantFrom(1, 2),
    caches: fc.constantFrom(1, 2),
    adjacent: fc.boolean(),
  })
  .map((shape) => new CpuTopology(machineOf(shape)));

const requests = machines.chain((topology) =>
  fc.record({
    topology: fc.constant(topology),
    available: fc.subarray([...topology.cpus], { minLength: 1 }).map((cpus) => CpuSet.of(cpus)),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
);

const options = fc.record({
  order: fc.constantFrom('packed' as const, 'spread' as const),
  alignUncoreCaches: fc.boolean(),
});

test('CPU allocation takes exactly the requested number of free CPUs on every machine', () => {
  fc.assert(
    fc.property(requests, options, fc.boolean(), ({ topology, available, part }, chosen, isPacked) => {
      const count = Math.round(part * available.size);
      const taken = isPacked
        ? takePacked(topology, available, count, chosen)
        : takeDistributed(topology, available, count, { order: chosen.order, groupSize: topology.cpusPerCore });
      expect(taken.size).toBe(count);
      expect(taken.isSubsetOf(available)).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test('CPU allocation takes exactly the requested number of free CPUs on a machine with offline CPUs', () => {
  const withOffline = machines.chain((topology) => {
    const cpus = [...topology.cpus];
    return fc.record({
      shape: fc.constant(topology),
      online: fc.subarray(cpus, { minLength: 1 }),
      inUse: fc.subarray(cpus),
      part: fc.double({ min: 0, max: 1, noNaN: true }),
    });
  });
  fc.assert(
    fc.property(withOffline, options, ({ shape, online, inUse, part }, chosen) => {
      const nodes = [...shape.groups('numaNode').keys()].map((id) => ({
        id,
        memoryBytes: 0,
        hugePages: [],
        cores: [
          ...groupCpus(shape.locationsOf(shape.cpusIn('numaNode', [id]).intersection(CpuSet.of(online))), 'core'),
        ].map(([, cpus]) => ({ socketId: cpus[0]?.socket ?? 0, cpus: cpus.map(({ cpu }) => cpu) })),
      }));
      const topology = new CpuTopology({ nodes });
      const available = CpuSet.of(online).difference(CpuSet.of(inUse));
      const count = Math.round(part * available.size);
      const taken = takePacked(topology, available, count, chosen);
      expect(taken.size).toBe(count);
      expect(taken.isSubsetOf(available)).toBe(true);
    }),
    { numRuns: 300 },
  );
});

test('packed CPU allocation skips the CPU in use of a core that has the average number of free CPUs', () => {
  const cores = [[0, 1], [2], [3]].map((cpus) => ({ socketId: 0, cpus }));
  const topology = new CpuTopology({ nodes: [{ id: 0, cores, memoryBytes: 0, hugePages: [] }] });
  expect(`${takePacked(topology, CpuSet.parse('1-3'), 2, packed)}`).toBe('1-2');
});

test('CPU allocation takes only whole cores if only whole cores are free and the request is a multiple of a core', () => {
  fc.assert(
    fc.property(requests, ({ topology, available, part }) => {
      const cores = new Set(topology.locationsOf(available).map(({ core }) => core));
      const free = topology.cpusIn('core', cores);
      const count = Math.round(part * cores.size) * topology.cpusPerCore;
      const taken = takePacked(topology, free, count, packed);
      const parts = groupCpus(topology.locationsOf(taken), 'core');
      expect([...parts.values()].every(({ length }) => length === topology.cpusPerCore)).toBe(true);
    }),
    { numRuns: 300 },
  );
});

test('distributed CPU allocation uses the fewest NUMA nodes over which the CPUs can be spread evenly', () => {
  fc.assert(
    fc.property(requests, ({ topology, available, part }) => {
      const count = Math.max(1, Math.round(part * available.size));
      const free = [...groupCpus(topology.locationsOf(available), 'numaNode').values()].map(({ length }) => length);
      const taken = takeDistributed(topology, available, count, { order: 'packed', groupSize: 1 });
      const parts = [...groupCpus(topology.locationsOf(taken), 'numaNode').values()].map(({ length }) => length);
      // The expected result by brute force: each of n nodes gives floor(count / n) CPUs, and the remainder fits into
      // their other free CPUs.
      const isEven = (n: number): boolean => {
        const each = Math.trunc(count / n);
        const able = free.filter((size) => size >= each).sort((a, b) => b - a);
        return able.length >= n && able.slice(0, n).reduce((sum, size) => sum + size, 0) >= count;
      };
      const sizes = Array.from({ length: free.length }, (_, index) => index + 1).filter((n) => n <= count);
      // Fewer nodes than the request would need on an empty machine are not tried, as in upstream.
      const largest = Math.ceil(topology.cpus.size / topology.numaNodes.length);
      const fewest = sizes.filter((n) => n >= Math.ceil(count / largest)).find(isEven);
      if (fewest !== undefined) expect(parts.length).toBe(fewest);
    }),
    { numRuns: 500 },
  );
});
