import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { containerOf, machineOf, podOf } from './builders.ts';
import { TestNode } from './helpers.ts';

const shapes = fc.record({
  nodesPerSocket: fc.constantFrom(1, 2),
  coresPerNode: fc.integer({ min: 1, max: 3 }),
  threads: fc.constantFrom(1, 2),
});
const policies = fc.constantFrom('best-effort' as const, 'restricted' as const, 'single-numa-node' as const);
const requests = fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 6 });

test('the static CPU policy takes CPUs from as few NUMA nodes as any choice of free CPUs could, or rejects the pod as the topology policy requires', async () => {
  await fc.assert(
    fc.asyncProperty(shapes, policies, requests, async (shape, topologyManagerPolicy, sizes) => {
      const machine = machineOf(shape);
      const node = new TestNode({ machine, topologyManagerPolicy });
      await node.resources.load();
      const nodeOfCpu = new Map(
        machine.nodes.flatMap(({ id, cores }) => cores.flatMap(({ cpus }) => cpus.map((cpu) => [cpu, id]))),
      );
      const used = new Set<number>();
      for (const [index, size] of sizes.entries()) {
        const free = node.resources.allocatableCpus().filter((cpu) => !used.has(cpu));
        const freePerNode = machine.nodes.map(({ id }) => free.filter((cpu) => nodeOfCpu.get(cpu) === id).length);
        const largest = [...freePerNode].sort((a, b) => b - a);
        // The expected result by brute force: the smallest number of nodes whose free CPUs suffice, and the smallest
        // number that would suffice if all CPUs were free.
        const enough = (counts: readonly number[], n: number): boolean =>
          counts.slice(0, n).reduce((sum, count) => sum + count, 0) >= size;
        const fewest = (counts: readonly number[]): number | undefined =>
          counts.map((_, at) => at + 1).find((n) => enough(counts, n));
        const all = machine.nodes.map(({ cores }) => cores.reduce((sum, { cpus }) => sum + cpus.length, 0));
        const [possible, ideal = machine.nodes.length] = [fewest(largest), fewest(all)];
        const verdict = await node.admit(podOf(`p${index}`, [containerOf('main', `${size}`)]));
        const isAligned = possible !== undefined && possible === ideal;
        const expected =
          topologyManagerPolicy === 'best-effort'
            ? possible !== undefined
            : isAligned && (topologyManagerPolicy === 'restricted' || possible === 1);
        expect(verdict.admit).toBe(expected);
        if (!verdict.admit) continue;
        const cpus = node.resources.exclusiveCpusOf(`p${index}`, 'main');
        for (const cpu of cpus) used.add(cpu);
        const nodes = new Set(cpus.map((cpu) => nodeOfCpu.get(cpu)));
        expect(cpus.length).toBe(size);
        if (isAligned) expect(nodes.size).toBe(possible);
      }
    }),
    { numRuns: 150 },
  );
});
