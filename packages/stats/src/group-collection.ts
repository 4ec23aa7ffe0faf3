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

/** How many groups are read side by side: the process has few threads for files, and others wait for them too. */
const READERS = 3;

/** A group that is no pod's, by the name that the summary has for it. */
interface SystemGroup {
  readonly name: 'kubelet' | 'runtime' | 'misc' | 'pods';
  readonly path: string;
}

/** What groups and the runtime told at one time. A part that could not be read is its error: others are there all the same. */
export interface GroupCollection {
  readonly detail: Detail;
  readonly bootedAtMs: number | undefined;
  readonly memoryBytes: number | undefined;
  readonly swapBytes: number | undefined;
  /** By their paths. */
  readonly groups: ReadonlyMap<string, GroupFigures>;
  readonly system: readonly SystemGroup[];
  readonly podGroups: PodGroups;
  /** Billionths of a CPU: by the path of a group, or the id of a container or sandbox of which the runtime told. */
  readonly rates: ReadonlyMap<string, number>;
  readonly pods: PromiseSettledResult<PodCollection>;
}

export interface PodCollection {
  readonly pods: readonly ListedPod[];
  /** What the runtime told of containers, where that was asked for. */
  readonly containers: ReadonlyMap<string, ContainerStats>;
  /** What it told of pods, where pods' figures are its own. */
  readonly sandboxes: ReadonlyMap<string, PodSandboxStats> | undefined;
  /** The names of images by the ids of containers and sandboxes, with the detail `full`. */
  readonly images: ReadonlyMap<string, string>;
}

/** What is there where pods are not looked at. */
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

/** Reads all groups that there is something to say about, and what the runtime says of pods. */
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
  // Of those that are told of by themselves, it is told when they were made.
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
  // In an order that does not depend on which was read first.
  const groups = new Map([...paths].flatMap((path) => entryOf(read, path)));
  const swapBytes = kibibytes(meminfo, 'SwapTotal');
  const root = withSwapOfMachine(groups.get('/'), swapBytes, kibibytes(meminfo, 'SwapFree'), reader.tree.version);
  if (root !== undefined) {
    // The first process of the machine sees its interfaces, and so does the node.
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

/** Of the root cgroup v2 has no file of swap: it uses what the machine does (`rootStatsFromMeminfo` of opencontainers/cgroups). */
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
  // Writable layers only the runtime knows; and of containers that have no group here, it alone knows anything.
  const hasGroup = (uid: string, id: string): boolean => groups.get(uid)?.containers.has(id) ?? false;
  const isNeeded =
    detail === 'summary' || pods.some(({ ref, containers }) => containers.some(({ id }) => !hasGroup(ref.uid, id)));
  const ofSandboxes = [...(sandboxes?.values() ?? [])].flatMap(({ linux }) => linux?.containers ?? []);
  const told = new Map(ofSandboxes.map((stats) => [stats.attributes?.id ?? '', stats]));
  const containers = sandboxes === undefined && isNeeded ? await runtime.containerStats(signal) : told;
  const images = detail === 'full' ? await runtime.images(pods, signal) : new Map<string, string>();
  return { pods, containers, sandboxes, images };
}

/** Those that are always shown, and those of pods: of what the runtime knows where less than everything is asked for. */
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
      // A runtime that measures for itself knows better than whoever asks it now and then.
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
