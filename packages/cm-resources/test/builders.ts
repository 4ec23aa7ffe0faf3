import type { Container, Pod } from '@node-agent/pod-spec';
import type { MachineTopology } from '../src/index.ts';

const MI = 2 ** 20;
const GI = 2 ** 30;

/** Shape of a test machine. */
interface Shape {
  readonly sockets?: number;
  readonly nodesPerSocket?: number;
  readonly coresPerNode?: number;
  readonly threads?: number;
  /** Number of uncore caches per node. */
  readonly caches?: number;
  /** Whether the threads of a core have adjacent ids; otherwise all first threads come first, as on real machines. */
  readonly adjacent?: boolean;
  readonly memoryGi?: number;
  /** Huge pages of 2 MiB per node. */
  readonly hugePages?: number;
}

/** Builds a machine; by default 2 sockets, 2 NUMA nodes, 2 cores each, 2 threads: 8 CPUs. */
export function machineOf(shape: Shape = {}): MachineTopology {
  const { sockets = 2, nodesPerSocket = 1, coresPerNode = 2, threads = 2, caches = 1, adjacent = false } = shape;
  const nodeCount = sockets * nodesPerSocket;
  const cores = nodeCount * coresPerNode;
  const cpusOf = (core: number): readonly number[] =>
    Array.from({ length: threads }, (_, thread) => (adjacent ? core * threads + thread : core + thread * cores));
  const nodes = Array.from({ length: nodeCount }, (_, id) => ({
    id,
    cores: Array.from({ length: coresPerNode }, (_, index) => ({
      socketId: Math.trunc(id / nodesPerSocket),
      cpus: cpusOf(id * coresPerNode + index),
      ...(caches > 1 && { uncoreCacheId: id * caches + Math.trunc((index * caches) / coresPerNode) }),
    })),
    memoryBytes: (shape.memoryGi ?? 4) * GI,
    hugePages: [{ pageSizeBytes: 2 * MI, count: shape.hugePages ?? 64 }],
    distances: new Map(
      Array.from({ length: nodeCount }, (_, other) => [other, 10 + 11 * Math.abs(other - id)] as const),
    ),
  }));
  return { nodes };
}

/** Builds a container whose requests equal its limits. */
export function containerOf(
  name: string,
  cpu: string,
  memory = '64Mi',
  more: Readonly<Record<string, string>> = {},
): Container {
  const amounts = { cpu, memory, ...more };
  return { name, image: 'x', resources: { limits: amounts, requests: amounts } };
}

export function sidecarOf(name: string, cpu: string, memory?: string): Container {
  return { ...containerOf(name, cpu, memory), restartPolicy: 'Always' };
}

export function podOf(uid: string, containers: readonly Container[], initContainers: readonly Container[] = []): Pod {
  return {
    metadata: { name: `pod-${uid}`, namespace: 'default', uid },
    spec: { containers: [...containers], ...(initContainers.length > 0 && { initContainers: [...initContainers] }) },
  };
}
