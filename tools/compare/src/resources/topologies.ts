/** Machine as the kernel describes it in `/sys`. */
export interface TopologyShape {
  readonly name: string;
  /** NUMA nodes, sorted by id. */
  readonly nodes: readonly {
    readonly id: number;
    readonly memoryMi: number;
    /** Number of huge pages by page size in KiB. */
    readonly hugePages: Readonly<Record<number, number>>;
    /** Distance to each node, in the order of the nodes. */
    readonly distances: readonly number[];
  }[];
  readonly cores: readonly {
    readonly node: number;
    readonly socket: number;
    /** Core id, which is unique only within the socket. */
    readonly id: number;
    readonly cpus: readonly number[];
    /** Id of the cache of level 3. */
    readonly cache: number;
  }[];
  readonly offline: readonly number[];
}

interface RegularShape {
  readonly name: string;
  readonly sockets: number;
  readonly nodesPerSocket: number;
  readonly coresPerNode: number;
  readonly threads: number;
  readonly cachesPerNode?: number;
  readonly memoryMi: number;
  readonly hugePages: Readonly<Record<number, number>>;
  readonly distance: (from: number, to: number) => number;
}

/** Builds a machine with equal nodes. The first threads of all cores come first, as on most real machines. */
export function regularTopology(shape: RegularShape): TopologyShape {
  const { name, sockets, nodesPerSocket, coresPerNode, threads, cachesPerNode = 1, memoryMi, hugePages } = shape;
  const count = sockets * nodesPerSocket;
  const cores = count * coresPerNode;
  const ids = Array.from({ length: count }, (_, id) => id);
  return {
    name,
    offline: [],
    nodes: ids.map((id) => ({ id, memoryMi, hugePages, distances: ids.map((to) => shape.distance(id, to)) })),
    cores: Array.from({ length: cores }, (_, core) => {
      const node = Math.trunc(core / coresPerNode);
      return {
        node,
        socket: Math.trunc(node / nodesPerSocket),
        id: core % (coresPerNode * nodesPerSocket),
        cpus: Array.from({ length: threads }, (_, thread) => core + thread * cores),
        cache: node * cachesPerNode + Math.trunc(((core % coresPerNode) * cachesPerNode) / coresPerNode),
      };
    }),
  };
}

/**
 * A machine whose CPU ids alternate between the sockets, with a whole core offline and a third NUMA node that has only
 * memory.
 */
const odd: TopologyShape = {
  name: 'odd numbering, an offline core, a node of memory',
  offline: [3, 11],
  nodes: [
    { id: 0, memoryMi: 12_288, hugePages: { 2048: 512 }, distances: [10, 21, 17] },
    { id: 1, memoryMi: 8_192, hugePages: { 2048: 512 }, distances: [21, 10, 28] },
    { id: 2, memoryMi: 16_384, hugePages: { 2048: 0 }, distances: [17, 28, 10] },
  ],
  cores: Array.from({ length: 8 }, (_, core) => ({
    node: core % 2,
    socket: core % 2,
    id: Math.trunc(core / 2) * 4,
    cpus: [core, core + 8],
    cache: core % 2,
  })),
};

/** The machines on which sequences run. */
export const topologies: readonly TopologyShape[] = [
  regularTopology({
    ...{ name: '1 node, no SMT', sockets: 1, nodesPerSocket: 1, coresPerNode: 8, threads: 1 },
    ...{ memoryMi: 16_384, hugePages: { 2048: 512 }, distance: () => 10 },
  }),
  regularTopology({
    ...{ name: '2 sockets, 2 nodes, SMT', sockets: 2, nodesPerSocket: 1, coresPerNode: 4, threads: 2 },
    ...{ memoryMi: 8_192, hugePages: { 2048: 256, 1048576: 2 } },
    distance: (from, to) => (from === to ? 10 : 21),
  }),
  regularTopology({
    ...{ name: '2 sockets, 4 nodes, SMT', sockets: 2, nodesPerSocket: 2, coresPerNode: 4, threads: 2 },
    ...{ memoryMi: 6_144, hugePages: { 2048: 256 } },
    distance: (from, to) => (from === to ? 10 : from >> 1 === to >> 1 ? 12 : 21),
  }),
  regularTopology({
    ...{ name: '2 sockets, 8 nodes, SMT, uncore caches', sockets: 2, nodesPerSocket: 4, coresPerNode: 4, threads: 2 },
    ...{ cachesPerNode: 2, memoryMi: 4_096, hugePages: { 2048: 128 } },
    distance: (from, to) =>
      from === to ? 10 : from >> 2 === to >> 2 ? 11 + ((from ^ to) & 3) : 32 - ((from + to) & 1),
  }),
  odd,
  { ...odd, name: 'odd numbering, offline threads, a node of memory', offline: [9, 14] },
];

const CPUS = 'sys/devices/system/cpu';
const NODES = 'sys/devices/system/node';

/** Returns the files of `/sys` that describe a machine, by path relative to the root directory. */
export function sysFiles({ nodes, cores, offline }: TopologyShape): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  const all = cores.flatMap(({ cpus }) => cpus);
  files.set(
    `${CPUS}/online`,
    all
      .filter((cpu) => !offline.includes(cpu))
      .sort((a, b) => a - b)
      .join(),
  );
  for (const { node, socket, id, cpus, cache } of cores) {
    const sharing = cores.filter((other) => other.cache === cache).flatMap((other) => other.cpus);
    for (const cpu of cpus) {
      const isOffline = offline.includes(cpu);
      files.set(`${NODES}/node${node}/cpu${cpu}/online`, isOffline ? '0' : '1');
      // An offline CPU has no topology and cache files, because the kernel removes them.
      if (isOffline) continue;
      const online = sharing.filter((other) => !offline.includes(other));
      // The files exist twice, because the kernel has links from a NUMA node's directory to the directories of its
      // CPUs.
      for (const directory of [`${CPUS}/cpu${cpu}`, `${NODES}/node${node}/cpu${cpu}`]) {
        files.set(`${directory}/topology/core_id`, `${id}`);
        files.set(`${directory}/topology/physical_package_id`, `${socket}`);
      }
      const index = `${CPUS}/cpu${cpu}/cache/index3`;
      files.set(`${index}/id`, `${cache}`).set(`${index}/level`, '3').set(`${index}/size`, '16384K');
      files.set(`${index}/type`, 'Unified').set(`${index}/shared_cpu_map`, cpuMap(online));
    }
  }
  for (const { id, memoryMi, hugePages, distances } of nodes) {
    files.set(`${NODES}/node${id}/meminfo`, `Node ${id} MemTotal:       ${memoryMi * 1024} kB\n`);
    files.set(`${NODES}/node${id}/distance`, distances.join(' '));
    for (const [kib, pages] of Object.entries(hugePages)) {
      files.set(`${NODES}/node${id}/hugepages/hugepages-${kib}kB/nr_hugepages`, `${pages}`);
    }
  }
  return files;
}

/** Returns the kernel's map of a set of CPUs: words of 32 bits, the highest first. */
function cpuMap(cpus: readonly number[]): string {
  const words = Math.trunc(Math.max(...cpus) / 32) + 1;
  return Array.from({ length: words }, (_, index) => {
    const first = (words - 1 - index) * 32;
    const bits = cpus.filter((cpu) => cpu >= first && cpu < first + 32);
    const word = bits.reduce((sum, cpu) => sum + 2 ** (cpu - first), 0);
    return word.toString(16).padStart(8, '0');
  }).join();
}
