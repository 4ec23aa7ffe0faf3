import type { ContainerStats, PodSandboxStats } from '@node-agent/cri-client';
import type { CpuRates } from './cpu-rates.ts';
import type { Detail, GroupFigures } from './group-figures.ts';
import type { GroupReader } from './group-reader.ts';
import type { KernelReads } from './kernel-reads.ts';
import { bootTimeMs, groupOfProcess } from './kernel-text.ts';
import { kubepodsOf, type PodGroups, readPodGroups } from './pod-groups.ts';
import type { ListedPod } from './pod-listing.ts';
import type { StatsOptions } from './ports.ts';
import type { ProcessReader } from './process-reader.ts';
import type { RuntimeReader } from './runtime-reader.ts';

/**
 * Number of cgroups that are read in parallel: the process has few threads for file access, and other readers need them
 * too.
 */
const READERS = 3;

/** A cgroup that belongs to no pod, with its name in the summary. */
interface SystemGroup {
  readonly name: 'kubelet' | 'runtime' | 'misc' | 'pods';
  readonly path: string;
}

/**
 * Stats of cgroups and of the runtime, collected at one time. A part that could not be read is present as an error; the
 * other parts are still available.
 */
export interface GroupCollection {
  readonly detail: Detail;
  readonly bootedAtMs: number | undefined;
  readonly memoryBytes: number | undefined;
  readonly swapBytes: number | undefined;
  /** Stats by cgroup path. */
  readonly groups: ReadonlyMap<string, GroupFigures>;
  readonly system: readonly SystemGroup[];
  readonly podGroups: PodGroups;
  /**
   * CPU usage in billionths of a CPU, by cgroup path, or by id of a container or sandbox whose stats come from the
   * runtime.
   */
  readonly rates: ReadonlyMap<string, number>;
  readonly pods: PromiseSettledResult<PodCollection>;
}

export interface PodCollection {
  readonly pods: readonly ListedPod[];
  /** The runtime's stats of containers, if they were requested. */
  readonly containers: ReadonlyMap<string, ContainerStats>;
  /** The runtime's stats of pods, if pods' stats are taken from the runtime. */
  readonly sandboxes: ReadonlyMap<string, PodSandboxStats> | undefined;
  /** Image names by id of containers and sandboxes; only with detail `full`. */
  readonly images: ReadonlyMap<string, string>;
}

/** Groups and listing of a collection that does not read pods. */
const NO_PODS: { readonly groups: PodGroups; readonly listing: PodCollection } = {
  groups: { parents: [], pods: new Map() },
  listing: { pods: [], containers: new Map(), sandboxes: undefined, images: new Map() },
};

interface Parts {
  readonly reads: KernelReads;
  readonly reader: GroupReader;
  readonly processes: ProcessReader;
  readonly runtime: RuntimeReader;
  readonly rates: CpuRates;
}

/** Reads all cgroups that the detail needs, and the runtime's data about pods. */
export async function collectGroups(
  { reads, reader, processes, runtime, rates }: Parts,
  options: StatsOptions,
  detail: Detail,
  signal: AbortSignal,
): Promise<GroupCollection> {
  processes.begin();
  const kubepods = kubepodsOf(options);
  const [system, podGroups, stat, meminfo] = await Promise.all([
    systemGroups(reads, reader, { ...options, kubepods }),
    detail === 'node' ? NO_PODS.groups : readPodGroups(reader, kubepods),
    reads.textOrNone('/proc/stat'),
    reads.textOrNone('/proc/meminfo'),
  ]);
  const [pods] = await Promise.allSettled([
    detail === 'node' ? NO_PODS.listing : listed(runtime, podGroups, options, detail, signal),
  ]);
  signal.throwIfAborted();
  rates.cpus = [...(stat ?? '').matchAll(/^cpu\d+ /gm)].length || Number.POSITIVE_INFINITY;
  const paths = wantedPaths(podGroups, system, pods, detail);
  const sandboxes = new Set(pods.status === 'fulfilled' ? pods.value.pods.map(({ sandboxId }) => sandboxId) : []);
  const networked = new Set(
    [...(detail === 'resource' ? [] : podGroups.pods.values())].flatMap(({ containers }) =>
      [...containers].flatMap(([id, path]) => (sandboxes.has(id) ? [path] : [])),
    ),
  );
  // Creation times are read for system cgroups, because the summary contains them.
  const shown = new Set(system.map(({ path }) => path));
  const read = new Map<string, GroupFigures>();
  const queue = [...paths];
  const work = async (): Promise<void> => {
    for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
      signal.throwIfAborted();
      const age = detail === 'full' || (detail !== 'resource' && shown.has(path));
      const figures = await reader.read(path, detail, { network: networked.has(path), age });
      if (figures !== undefined) read.set(path, figures);
    }
  };
  await Promise.all(Array.from({ length: READERS }, work));
  // The map has the order of `paths`, because the order must not depend on which cgroup was read first.
  const groups = new Map([...paths].flatMap((path) => entryOf(read, path)));
  const swapBytes = kibibytes(meminfo, 'SwapTotal');
  const root = withSwapOfMachine(groups.get('/'), swapBytes, kibibytes(meminfo, 'SwapFree'), reader.tree.version);
  if (root !== undefined) {
    // The network counters of the node are those of process 1, which is in the node's network namespace.
    const network = detail === 'resource' ? undefined : await processes.networkOf('1');
    groups.set('/', { ...root, ...(network && { network }) });
  }
  const collected = ratesOf(rates, groups, pods);
  return {
    ...{ detail, groups, system, podGroups, pods, rates: collected },
    bootedAtMs: bootTimeMs(stat),
    memoryBytes: kibibytes(meminfo, 'MemTotal'),
    swapBytes,
  };
}

/**
 * Sets the swap usage of the root cgroup on cgroup v2 to the machine's swap usage, because the root cgroup has no swap
 * file (`rootStatsFromMeminfo` of opencontainers/cgroups).
 */
function withSwapOfMachine(
  root: GroupFigures | undefined,
  totalBytes: number | undefined,
  freeBytes: number | undefined,
  version: 1 | 2,
): GroupFigures | undefined {
  if (version === 1 || root?.memory === undefined || totalBytes === undefined || freeBytes === undefined) return root;
  return { ...root, memory: { ...root.memory, swapBytes: Math.max(0, totalBytes - freeBytes) } };
}

async function listed(
  runtime: RuntimeReader,
  { pods: groups }: PodGroups,
  { fromRuntime = false }: StatsOptions,
  detail: Detail,
  signal: AbortSignal,
): Promise<PodCollection> {
  const [pods, sandboxes] = await Promise.all([
    runtime.pods(signal),
    fromRuntime ? runtime.sandboxStats(signal) : undefined,
  ]);
  // The runtime's container stats are needed for writable layers, and for containers without a visible cgroup.
  const hasGroup = (uid: string, id: string): boolean => groups.get(uid)?.containers.has(id) ?? false;
  const isNeeded =
    detail === 'summary' || pods.some(({ ref, containers }) => containers.some(({ id }) => !hasGroup(ref.uid, id)));
  const ofSandboxes = [...(sandboxes?.values() ?? [])].flatMap(({ linux }) => linux?.containers ?? []);
  const told = new Map(ofSandboxes.map((stats) => [stats.attributes?.id ?? '', stats]));
  const containers = sandboxes === undefined && isNeeded ? await runtime.containerStats(signal) : told;
  const images = detail === 'full' ? await runtime.images(pods, signal) : new Map<string, string>();
  return { pods, containers, sandboxes, images };
}

/**
 * Returns the paths of cgroups to read: system cgroups, and pods' cgroups. With less than full detail, only pods that
 * the runtime lists are read.
 */
function wantedPaths(
  { parents, pods }: PodGroups,
  system: readonly SystemGroup[],
  listing: GroupCollection['pods'],
  detail: Detail,
): ReadonlySet<string> {
  const paths = new Set(['/', ...system.map(({ path }) => path)]);
  if (detail === 'full') {
    for (const path of parents) paths.add(path);
    for (const { path, containers } of pods.values()) for (const one of [path, ...containers.values()]) paths.add(one);
    return paths;
  }
  for (const { ref, sandboxId, containers } of listing.status === 'fulfilled' ? listing.value.pods : []) {
    const group = pods.get(ref.uid);
    if (group === undefined) continue;
    paths.add(group.path);
    const ids = [...containers.map(({ id }) => id), ...(detail === 'summary' ? [sandboxId] : [])];
    for (const id of ids) {
      const path = group.containers.get(id);
      if (path !== undefined) paths.add(path);
    }
  }
  return paths;
}

function entryOf<T>(map: ReadonlyMap<string, T>, key: string): readonly (readonly [string, T])[] {
  const value = map.get(key);
  return value === undefined ? [] : [[key, value]];
}

async function systemGroups(
  reads: KernelReads,
  reader: GroupReader,
  { kubeletCgroups, runtimeCgroups, systemCgroups, kubepods }: StatsOptions & { readonly kubepods: string },
): Promise<readonly SystemGroup[]> {
  const kubelet = kubeletCgroups || groupOfProcess(await reads.textOrNone('/proc/self/cgroup'), reader.tree.version);
  const named = { kubelet, runtime: runtimeCgroups, misc: systemCgroups, pods: kubepods };
  return Object.entries(named).flatMap(([name, path]) =>
    path ? [{ name: name as SystemGroup['name'], path: path.startsWith('/') ? path : `/${path}` }] : [],
  );
}

function ratesOf(
  rates: CpuRates,
  groups: ReadonlyMap<string, GroupFigures>,
  pods: GroupCollection['pods'],
): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const take = (key: string, usageNs: number, atNs: number): void => {
    const rate = rates.update(key, { usageNs, atNs });
    if (rate !== undefined) found.set(key, rate);
  };
  for (const { path, cpu, monotonicMs } of groups.values()) if (cpu) take(path, cpu.usageNs, monotonicMs * 1e6);
  if (pods.status === 'fulfilled') {
    const { containers, sandboxes } = pods.value;
    const told = [
      ...[...containers].map(([id, { cpu }]) => [id, cpu] as const),
      ...[...(sandboxes ?? [])].map(([id, { linux }]) => [id, linux?.cpu ?? null] as const),
    ];
    for (const [id, cpu] of told) {
      if (cpu === null) continue;
      // A rate that the runtime itself measured is more exact than a rate computed from occasional readings.
      if (cpu.usageNanoCores !== null) found.set(id, cpu.usageNanoCores.value);
      else if (cpu.usageCoreNanoSeconds !== null) take(id, cpu.usageCoreNanoSeconds.value, cpu.timestamp);
    }
  }
  rates.forgetOld();
  return found;
}

function kibibytes(meminfo: string | undefined, name: string): number | undefined {
  const text = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(meminfo ?? '')?.[1];
  return text === undefined ? undefined : Number(text) * 1024;
}
