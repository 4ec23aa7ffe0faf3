import { MemoryFileSystem } from '@node-agent/host/testing';
import { expect, test } from 'vitest';
import { ContainerResourcesError, readMachineTopology } from '../src/index.ts';

const CPU = '/sys/devices/system/cpu';
const NODE = '/sys/devices/system/node';

/** Returns a file system with these files; the keys are paths below `/sys`. */
async function sysOf(files: Readonly<Record<string, string>>): Promise<MemoryFileSystem> {
  const fs = new MemoryFileSystem();
  for (const [path, text] of Object.entries(files)) {
    await fs.mkdir(path.slice(0, path.lastIndexOf('/')));
    await fs.writeFile(path, text);
  }
  return fs;
}

function cpu(id: number, core: number, socket: number): Record<string, string> {
  return {
    [`${CPU}/cpu${id}/topology/core_id`]: `${core}\n`,
    [`${CPU}/cpu${id}/topology/physical_package_id`]: `${socket}\n`,
  };
}

function inNode(node: number, ...cpus: readonly number[]): Record<string, string> {
  return Object.fromEntries(cpus.map((id) => [`${NODE}/node${node}/cpu${id}/online`, '1']));
}

function cache(id: number, level: number, cpus: string, cacheId: number): Record<string, string> {
  const directory = `${CPU}/cpu${id}/cache/index${level}`;
  return {
    [`${directory}/id`]: `${cacheId}\n`,
    [`${directory}/level`]: `${level}\n`,
    [`${directory}/shared_cpu_map`]: `${cpus}\n`,
  };
}

const twoNodes = {
  [`${CPU}/online`]: '0-7\n',
  ...cpu(0, 0, 0),
  ...cpu(1, 0, 0),
  ...cpu(2, 1, 0),
  ...cpu(3, 1, 0),
  ...cpu(4, 0, 1),
  ...cpu(5, 0, 1),
  ...cpu(6, 1, 1),
  ...cpu(7, 1, 1),
  ...inNode(0, 0, 1, 2, 3),
  ...inNode(1, 4, 5, 6, 7),
  [`${NODE}/node0/meminfo`]: 'Node 0 MemTotal:        3145728 kB\nNode 0 MemFree: 1 kB\n',
  [`${NODE}/node1/meminfo`]: 'Node 1 MemTotal:        2097152 kB\n',
  [`${NODE}/node0/hugepages/hugepages-2048kB/nr_hugepages`]: '64\n',
  [`${NODE}/node0/hugepages/hugepages-1048576kB/nr_hugepages`]: '0\n',
  [`${NODE}/node0/distance`]: '10 21\n',
  [`${NODE}/node1/distance`]: '21 10\n',
};

test('readMachineTopology reads sockets, cores, memory, huge pages and distances of each NUMA node', async () => {
  const { nodes } = await readMachineTopology(await sysOf(twoNodes));
  expect(nodes).toEqual([
    {
      id: 0,
      cores: [
        { socketId: 0, cpus: [0, 1] },
        { socketId: 0, cpus: [2, 3] },
      ],
      memoryBytes: 3 * 2 ** 30,
      hugePages: [
        { pageSizeBytes: 2 ** 21, count: 64 },
        { pageSizeBytes: 2 ** 30, count: 0 },
      ],
      distances: new Map([
        [0, 10],
        [1, 21],
      ]),
    },
    {
      id: 1,
      cores: [
        { socketId: 1, cpus: [4, 5] },
        { socketId: 1, cpus: [6, 7] },
      ],
      memoryBytes: 2 * 2 ** 30,
      hugePages: [],
      distances: new Map([
        [0, 21],
        [1, 10],
      ]),
    },
  ]);
});

test('readMachineTopology omits CPUs that are offline', async () => {
  const { nodes } = await readMachineTopology(await sysOf({ ...twoNodes, [`${CPU}/online`]: '0,2-6' }));
  expect(nodes.map(({ cores }) => cores.map(({ cpus }) => cpus))).toEqual([
    [[0], [2, 3]],
    [[4, 5], [6]],
  ]);
});

test('readMachineTopology reads an L3 cache that a part of a NUMA node shares as an uncore cache', async () => {
  const caches = { ...cache(0, 2, '3', 9), ...cache(0, 3, '3', 0), ...cache(2, 3, 'c', 1) };
  const { nodes } = await readMachineTopology(await sysOf({ ...twoNodes, ...caches }));
  expect(nodes[0]?.cores.map(({ uncoreCacheId }) => uncoreCacheId)).toEqual([0, 1]);
});

test('readMachineTopology reads no uncore cache if a whole NUMA node shares its L3 cache', async () => {
  const caches = { ...cache(0, 3, '0000000f', 0), ...cache(2, 3, '0000000f', 0) };
  const { nodes } = await readMachineTopology(await sysOf({ ...twoNodes, ...caches }));
  expect(nodes[0]?.cores.map(({ uncoreCacheId }) => uncoreCacheId)).toEqual([undefined, undefined]);
});

test('readMachineTopology includes a NUMA node that has only memory', async () => {
  const memory = { [`${NODE}/node2/meminfo`]: 'Node 2 MemTotal: 1024 kB' };
  const { nodes } = await readMachineTopology(await sysOf({ ...twoNodes, ...memory }));
  expect(nodes[2]).toEqual({ id: 2, cores: [], memoryBytes: 2 ** 20, hugePages: [] });
});

test('readMachineTopology uses sockets as NUMA nodes if the kernel reports no NUMA nodes', async () => {
  const files = { ...cpu(0, 0, 0), ...cpu(1, 0, 1) };
  const { nodes } = await readMachineTopology(await sysOf(files));
  expect(nodes.map(({ id, cores, memoryBytes }) => ({ id, cores, memoryBytes }))).toEqual([
    { id: 0, cores: [{ socketId: 0, cpus: [0] }], memoryBytes: 0 },
    { id: 1, cores: [{ socketId: 1, cpus: [1] }], memoryBytes: 0 },
  ]);
});

test.each([
  ['no CPUs at all', {}, /has no online CPU with a core id/],
  [
    'an invalid list of online CPUs',
    { ...twoNodes, [`${CPU}/online`]: 'all' },
    /cpu\/online must be a list of CPUs, not "all"/,
  ],
  [
    'a core id that is not a number',
    { ...twoNodes, [`${CPU}/cpu0/topology/core_id`]: 'x' },
    /cpu0\/topology\/core_id must be a number/,
  ],
  [
    'memory without a total',
    { ...twoNodes, [`${NODE}/node0/meminfo`]: 'MemFree: 1 kB' },
    /node0\/meminfo has no MemTotal/,
  ],
  [
    'distances that are not numbers',
    { ...twoNodes, [`${NODE}/node0/distance`]: '10 x' },
    /node0\/distance must be a list of numbers/,
  ],
])('readMachineTopology rejects a machine with %s', async (_name, files, message) => {
  const reading = readMachineTopology(await sysOf(files as Record<string, string>));
  await expect(reading).rejects.toThrow(message);
  await expect(reading).rejects.toSatisfy(ContainerResourcesError.is);
});
