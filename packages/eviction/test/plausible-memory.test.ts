import { describe, expect, test } from 'vitest';
import { withPlausibleMemory } from '../src/plausible-memory.ts';
import type { EvictionSummary } from '../src/summary.ts';

const memory = (workingSetBytes: number) => ({ time: null, availableBytes: 0, workingSetBytes });
const podRef = { name: 'p', namespace: 'default', uid: 'u' };

function summary(node: number, group: number, pod: number, container: number): EvictionSummary {
  return {
    node: { memory: memory(node), systemContainers: [{ name: 'pods', memory: memory(group) }] },
    pods: [{ podRef, memory: memory(pod), containers: [{ name: 'c', memory: memory(container) }] }],
  };
}

describe('withPlausibleMemory on a machine of 100 bytes', () => {
  const left = ({ node, pods: [pod] }: EvictionSummary) =>
    [node.memory, node.systemContainers?.[0]?.memory, pod?.memory, pod?.containers?.[0]?.memory].map(
      (of) => of !== undefined,
    );

  test.each([
    ['none', summary(100, 100, 100, 100), [true, true, true, true], []],
    ['the node', summary(101, 1, 1, 1), [false, true, true, true], ['memory.available']],
    ['the cgroup of all pods', summary(1, 101, 1, 1), [true, false, true, true], ['group pods']],
    ['a pod', summary(1, 1, 101, 1), [true, true, false, true], ['pod default/p']],
    ['a container', summary(1, 1, 1, 101), [true, true, true, false], ['container c of pod p']],
  ])(
    "withPlausibleMemory drops working sets above the machine's memory, of %s, and names them",
    (_, given, kept, named) => {
      const { summary: plausible, faults } = withPlausibleMemory(given, 100);
      expect(left(plausible)).toEqual(kept);
      expect(faults.map((fault) => fault.split(':')[0])).toEqual(named);
    },
  );

  test.each([undefined, 0, Number.NaN])(
    "withPlausibleMemory keeps all working sets if the machine's memory is unknown (%s)",
    (bytes) => {
      const given = summary(2 ** 50, 1, 1, 1);
      expect(withPlausibleMemory(given, bytes)).toEqual({ summary: given, faults: [] });
    },
  );
});
