import { errorCode, type FileSystem, isMissing, readFileBounded } from '@node-agent/host';
import { CpuSet } from '../cpuset/cpu-set.ts';
import { ContainerResourcesError } from '../errors.ts';
import type { MachineCore, MachineTopology, NodeHugePages, NumaNode } from './machine-topology.ts';

/** File operations of {@link readMachineTopology}, on the files of `/sys`. */
export type TopologyFiles = Pick<FileSystem, 'open' | 'readdir'>;

const CPUS = '/sys/devices/system/cpu';
const NODES = '/sys/devices/system/node';
/** Maximum number of bytes to read of a file. The largest file, `shared_cpu_map` of 8,192 CPUs, has 2.3 KB. */
const MAX_BYTES = 64 * 1024;

/** Facts about a CPU that are needed to group the CPUs into cores. */
interface CpuFacts {
  readonly cpu: number;
  readonly coreId: number;
  readonly socketId: number;
}

/**
 * Reads NUMA nodes, sockets, cores, uncore caches, memory and huge pages of the machine from `/sys`, as cAdvisor does
 * (`utils/sysinfo/sysinfo.go: GetNodesInfo`). Offline CPUs are left out. If the kernel reports no NUMA nodes, each
 * socket counts as a node without memory.
 * @throws ContainerResourcesError `TopologyUnreadable`
 */
export async function readMachineTopology(fs: TopologyFiles): Promise<MachineTopology> {
  const online = await onlineCpus(fs);
  const nodeIds = await numbersIn(fs, NODES, /^node(\d+)$/);
  const nodes =
    nodeIds.length === 0
      ? await nodesOfSockets(fs, online)
      : await Promise.all(nodeIds.map((id) => readNode(fs, id, online, nodeIds)));
  if (nodes.every(({ cores }) => cores.length === 0)) throw unreadable(CPUS, 'has no online CPU with a core id');
  return { nodes };
}

async function readNode(
  fs: TopologyFiles,
  id: number,
  online: CpuSet | undefined,
  nodeIds: readonly number[],
): Promise<NumaNode> {
  const directory = `${NODES}/node${id}`;
  const facts = await cpuFacts(fs, directory, online);
  const distances = await distancesOf(fs, directory, nodeIds);
  return {
    id,
    cores: await withCaches(fs, coresOf(facts)),
    memoryBytes: await memoryOf(fs, directory),
    hugePages: await hugePagesOf(fs, `${directory}/hugepages`),
    ...(distances && { distances }),
  };
}

async function nodesOfSockets(fs: TopologyFiles, online: CpuSet | undefined): Promise<readonly NumaNode[]> {
  const facts = await cpuFacts(fs, CPUS, online);
  const sockets = [...new Set(facts.map(({ socketId }) => socketId))].sort((a, b) => a - b);
  return await Promise.all(
    sockets.map(async (id) => {
      const cores = coresOf(facts.filter(({ socketId }) => socketId === id));
      return { id, cores: await withCaches(fs, cores), memoryBytes: 0, hugePages: [] };
    }),
  );
}

/** Returns the online CPUs; `undefined` if the kernel has no CPU hotplug, so that all CPUs are online. */
async function onlineCpus(fs: TopologyFiles): Promise<CpuSet | undefined> {
  const text = await optional(fs, `${CPUS}/online`);
  if (text === undefined) return undefined;
  try {
    return CpuSet.parse(text);
  } catch (cause) {
    throw unreadable(`${CPUS}/online`, `must be a list of CPUs, not ${JSON.stringify(text)}`, cause);
  }
}

async function cpuFacts(fs: TopologyFiles, directory: string, online: CpuSet | undefined): Promise<CpuFacts[]> {
  const cpus = (await numbersIn(fs, directory, /^cpu(\d+)$/)).filter((cpu) => online?.has(cpu) ?? true);
  const facts = await Promise.all(
    cpus.map(async (cpu) => {
      const coreId = await optionalNumber(fs, `${CPUS}/cpu${cpu}/topology/core_id`);
      const socketId = await optionalNumber(fs, `${CPUS}/cpu${cpu}/topology/physical_package_id`);
      return coreId === undefined || socketId === undefined ? [] : [{ cpu, coreId, socketId }];
    }),
  );
  return facts.flat();
}

function coresOf(facts: readonly CpuFacts[]): readonly MachineCore[] {
  const cores = new Map<string, { readonly socketId: number; readonly cpus: number[] }>();
  for (const { cpu, coreId, socketId } of facts) {
    const key = `${socketId}/${coreId}`;
    const core = cores.get(key) ?? { socketId, cpus: [] };
    core.cpus.push(cpu);
    cores.set(key, core);
  }
  return [...cores.values()];
}

/**
 * Adds the uncore caches. If the kernel does not describe the caches of a core completely, that core and the cores
 * after it count as sharing one cache, as in upstream.
 */
async function withCaches(fs: TopologyFiles, cores: readonly MachineCore[]): Promise<readonly MachineCore[]> {
  const known: MachineCore[] = [];
  for (const core of cores) {
    const cache = await uncoreCacheOf(fs, core, cores.length * core.cpus.length);
    if (cache === 'unknown') break;
    known.push(cache === undefined ? core : { ...core, uncoreCacheId: cache });
  }
  return [...known, ...cores.slice(known.length)];
}

async function uncoreCacheOf(
  fs: TopologyFiles,
  { cpus }: MachineCore,
  nodeCpus: number,
): Promise<number | undefined | 'unknown'> {
  const directory = `${CPUS}/cpu${cpus[0]}/cache`;
  let found: number | undefined;
  const indexes = await numbersIn(fs, directory, /^index(\d+)$/);
  if (indexes.length === 0) return 'unknown';
  for (const index of indexes) {
    const file = (name: string): Promise<string | undefined> => optional(fs, `${directory}/index${index}/${name}`);
    const [id, level, map] = [await file('id'), await file('level'), await file('shared_cpu_map')];
    if (id === undefined || level === undefined || map === undefined) return 'unknown';
    if (Number(level) > 2 && bitsOf(map) !== nodeCpus) found ??= Number(id);
  }
  return found;
}

/** Counts the bits of a kernel mask such as `00000000,0000000f`. */
function bitsOf(mask: string): number {
  const ones = { 0: 0, 1: 1, 2: 1, 3: 2, 4: 1, 5: 2, 6: 2, 7: 3, 8: 1, 9: 2, a: 2, b: 3, c: 2, d: 3, e: 3, f: 4 };
  return [...mask.toLowerCase()].reduce((sum, digit) => sum + (ones[digit as keyof typeof ones] ?? 0), 0);
}

async function memoryOf(fs: TopologyFiles, directory: string): Promise<number> {
  const text = await optional(fs, `${directory}/meminfo`);
  if (text === undefined) return 0;
  const kib = /MemTotal:\s*(\d+) kB/.exec(text)?.[1];
  if (kib === undefined) throw unreadable(`${directory}/meminfo`, 'has no MemTotal');
  return Number(kib) * 1024;
}

async function hugePagesOf(fs: TopologyFiles, directory: string): Promise<readonly NodeHugePages[]> {
  const sizes = await numbersIn(fs, directory, /^hugepages-(\d+)kB$/);
  return await Promise.all(
    sizes.map(async (kib) => {
      const path = `${directory}/hugepages-${kib}kB/nr_hugepages`;
      const count = await optionalNumber(fs, path);
      if (count === undefined) throw unreadable(path, 'is missing');
      return { pageSizeBytes: kib * 1024, count };
    }),
  );
}

/**
 * Returns the distance of a NUMA node to each node, by node id. The kernel lists the distances without ids, in the
 * order of the ids.
 */
async function distancesOf(
  fs: TopologyFiles,
  directory: string,
  nodeIds: readonly number[],
): Promise<ReadonlyMap<number, number> | undefined> {
  const text = await optional(fs, `${directory}/distance`);
  if (text === undefined) return undefined;
  const distances = text.split(/\s+/).map(Number);
  if (distances.some((distance) => !Number.isInteger(distance) || distance < 0)) {
    throw unreadable(`${directory}/distance`, `must be a list of numbers, not ${JSON.stringify(text)}`);
  }
  return new Map(nodeIds.flatMap((id, index) => (distances[index] === undefined ? [] : [[id, distances[index]]])));
}

/**
 * Returns the numbers in the file names of a directory that match `name`, sorted. Returns an empty list if the
 * directory does not exist.
 */
async function numbersIn(fs: TopologyFiles, directory: string, name: RegExp): Promise<number[]> {
  try {
    const entries = await fs.readdir(directory);
    return entries
      .flatMap((entry) => name.exec(entry.name)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b);
  } catch (cause) {
    if (isMissing(cause)) return [];
    throw unreadable(directory, 'cannot be read', cause);
  }
}

async function optionalNumber(fs: TopologyFiles, path: string): Promise<number | undefined> {
  const text = await optional(fs, path);
  if (text === undefined) return undefined;
  if (!/^-?\d+$/.test(text)) throw unreadable(path, `must be a number, not ${JSON.stringify(text)}`);
  return Number(text);
}

/** Returns the content of a file without surrounding white space; `undefined` if the kernel does not have the file. */
async function optional(fs: TopologyFiles, path: string): Promise<string | undefined> {
  try {
    return new TextDecoder().decode(await readFileBounded(fs, path, MAX_BYTES)).trim();
  } catch (cause) {
    // Reading the cache size of some virtual CPUs fails with EIO or EINVAL.
    if (isMissing(cause) || errorCode(cause) === 'EIO' || errorCode(cause) === 'EINVAL') return undefined;
    throw unreadable(path, 'cannot be read', cause);
  }
}

function unreadable(path: string, problem: string, cause?: unknown): ContainerResourcesError {
  return new ContainerResourcesError('TopologyUnreadable', `read machine topology: ${path} ${problem}`, { cause });
}
