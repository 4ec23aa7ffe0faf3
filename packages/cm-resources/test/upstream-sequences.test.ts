import { readFileSync } from 'node:fs';
import type { Container, Pod } from '@node-agent/pod-spec';
import { expect, test } from 'vitest';
import type { ContainerResourcesOptions, MachineTopology } from '../src/index.ts';
import { decodeCpuState } from '../src/state/cpu-checkpoint.ts';
import { decodeMemoryState } from '../src/state/memory-checkpoint.ts';
import { containerOf, podOf } from './builders.ts';
import { settle, TestNode } from './helpers.ts';

/** A container of a recorded sequence. `cpu` is `request/limit` if the two differ. */
type ContainerRow = readonly [name: string, sidecar: 0 | 1, cpu: string, memory: string, hugePages?: string];

interface Step {
  readonly admit?: string;
  readonly remove?: string;
  readonly init?: readonly ContainerRow[];
  readonly main?: readonly ContainerRow[];
  readonly rejected?: string;
  readonly shared: string;
  readonly cpus: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly memory?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
}

interface Sequence {
  readonly seed: number;
  readonly nodes: readonly {
    readonly id: number;
    readonly memory: number;
    readonly huge: number;
    readonly distances: readonly number[];
    readonly cores: readonly (readonly [socket: number, cache: number | null, ...cpus: number[]])[];
  }[];
  readonly cpuOptions: Readonly<Record<string, string>>;
  readonly reserved: string;
  readonly numReserved: number;
  readonly memory: boolean;
  readonly topology: NonNullable<ContainerResourcesOptions['topologyManagerPolicy']>;
  readonly scope: 'container' | 'pod';
  readonly topologyOptions: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}

/**
 * Random sequences of pods on random machines, each with the result and the state of upstream's policies (1.36.3) after
 * each step. The sequences were recorded once. Pods with init containers are left out with `full-pcpus-only`, because
 * upstream does not count the cores that init containers leave.
 */
const sequences = JSON.parse(readFileSync(new URL('upstream-sequences.json', import.meta.url), 'utf8')) as Sequence[];

function machineOf({ nodes }: Sequence): MachineTopology {
  return {
    nodes: nodes.map(({ id, memory, huge, distances, cores }) => ({
      id,
      memoryBytes: memory * 2 ** 30,
      hugePages: [{ pageSizeBytes: 2 ** 21, count: huge }],
      distances: new Map(distances.map((distance, other) => [other, distance] as const)),
      cores: cores.map(([socketId, cache, ...cpus]) => ({
        socketId,
        cpus,
        ...(cache !== null && { uncoreCacheId: cache }),
      })),
    })),
  };
}

function containerFrom([name, sidecar, cpu, memory, hugePages]: ContainerRow): Container {
  const [request = cpu, limit = request] = cpu.split('/');
  const container = containerOf(name, limit, memory, hugePages === undefined ? {} : { 'hugepages-2Mi': hugePages });
  const resources = { ...container.resources, requests: { ...container.resources?.requests, cpu: request } };
  return { ...container, resources, ...(sidecar === 1 && { restartPolicy: 'Always' }) };
}

function nodeOf(sequence: Sequence): TestNode {
  const { cpuOptions, reserved, numReserved, memory, topology, scope, topologyOptions, nodes } = sequence;
  return new TestNode({
    machine: machineOf(sequence),
    cpuManagerPolicyOptions: cpuOptions,
    cpuOptionGates: { alpha: true },
    reservedSystemCPUs: reserved,
    topologyManagerPolicy: topology,
    topologyManagerScope: scope,
    topologyManagerPolicyOptions: topologyOptions,
    nodeReservation: { cpu: `${numReserved}`, ...(memory && { memory: `${512 * nodes.length}Mi` }) },
    ...(memory && {
      memoryManagerPolicy: 'Static',
      reservedMemory: nodes.map(({ id }) => ({ numaNode: id, limits: { memory: '512Mi' } })),
    }),
  });
}

async function stateOf(node: TestNode, withMemory: boolean): Promise<Omit<Step, 'admit' | 'remove'>> {
  const { shared, assignments } = decodeCpuState(await node.file('cpu_manager_state'));
  const cpus = [...assignments].map(([uid, of]) => [
    uid,
    Object.fromEntries([...of].map(([name, set]) => [name, `${set}`])),
  ]);
  const memory = [...decodeMemoryState(await node.file('memory_manager_state')).assignments].map(([uid, of]) => [
    uid,
    Object.fromEntries(
      [...of].map(([name, blocks]) => [
        name,
        blocks.map(({ resource, bytes, nodes }) => `${resource} ${bytes} on ${nodes}`),
      ]),
    ),
  ]);
  return {
    shared: `${shared}`,
    cpus: Object.fromEntries(cpus),
    ...(withMemory && { memory: Object.fromEntries(memory) }),
  };
}

/**
 * A pod whose admission makes the managers free the resources of pods that are gone. The pod itself gets no resources.
 */
const probe: Pod = {
  ...podOf('probe', [{ name: 'main', image: 'x' }]),
  spec: {
    containers: [{ name: 'main', image: 'x' }],
    resources: { limits: { cpu: '1', memory: '1' }, requests: { cpu: '1', memory: '1' } },
  },
};

test.each(sequences.map((sequence) => [sequence.topology, Object.keys(sequence.cpuOptions).join(), sequence] as const))(
  'CPUs are allocated as by upstream with the topology policy %s and the options "%s"',
  async (_policy, _options, sequence) => {
    const node = nodeOf(sequence);
    await node.resources.load();
    for (const { admit, remove, init = [], main = [], rejected, ...expected } of sequence.steps) {
      if (admit !== undefined) {
        const verdict = await node.admit(podOf(admit, main.map(containerFrom), init.map(containerFrom)));
        expect(verdict.admit ? undefined : `${verdict.reason}: ${verdict.message}`).toBe(rejected);
      } else if (remove !== undefined) {
        node.remove(remove);
        await node.resources.admit(probe, [], new AbortController().signal);
        node.resources.release(probe);
      }
      await settle();
      expect(await stateOf(node, sequence.memory)).toEqual(expected);
    }
  },
);
