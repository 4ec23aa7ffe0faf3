import { type Clock, TimeSlice } from '@node-agent/async';
import { errorText } from '@node-agent/telemetry';
import { StatsError } from './errors.ts';
import type { GroupCollection, PodCollection } from './group-collection.ts';
import type { GroupFigures } from './group-figures.ts';
import { type PodStorage, podStats } from './pod-summary.ts';
import type { VolumeFigures } from './ports.ts';
import type { StorageCollection, UsedFs } from './storage-collection.ts';
import type { PodReference } from './summary.ts';
import { apiTime, type ContainerStats, type FsStats, type NodeStats, type NodeSummary } from './summary.ts';
import { ioOfGroup, networkOfGroup, partsOfGroup } from './summary-parts.ts';

/** Additional input of a summary. */
export interface SummaryContext {
  readonly nodeName: string;
  /** Wall-clock time at which this process started. */
  readonly startedAtMs: number;
  readonly volumeUsage: (pod: PodReference) => readonly VolumeFigures[];
  readonly layers: PodStorage['layers'];
  /** Clock for the turns of the event loop in between. */
  readonly clock: Pick<Clock, 'monotonic' | 'setTimer'>;
}

/**
 * Builds the response of `/stats/summary` (`summaryProviderImpl.Get`, `pkg/kubelet/server/stats/summary.go`). The event
 * loop is served in between.
 * @throws StatsError `Unavailable` if a part is missing without which upstream has no response; the signal's reason
 */
export async function fullSummary(
  groups: GroupCollection,
  storage: StorageCollection,
  { nodeName, startedAtMs, volumeUsage, layers: measured, clock }: SummaryContext,
  signal?: AbortSignal,
): Promise<NodeSummary> {
  const root = rootOf(groups);
  const node = fulfilled(storage.node, 'failed to get rootFs stats');
  const { images, layers } = fulfilled(storage.runtime, 'failed to get imageFs stats');
  const pods = podsOf(groups);
  const fs: FsStats = {
    ...{ time: apiTime(root.atMs), availableBytes: node.availableBytes, capacityBytes: node.totalBytes },
    ...{ usedBytes: node.totalBytes - node.freeBytes, ...inodes(node), inodesUsed: node.inodes - node.freeInodes },
  };
  const { atMs, max, current } = storage.processes;
  const io = ioOfGroup(root);
  const network = networkOfGroup(root);
  return {
    node: {
      nodeName,
      ...systemContainers(groups, startedAtMs, true),
      startTime: apiTime(groups.bootedAtMs),
      ...partsOfGroup(root, groups.rates.get('/')),
      ...(io && { io }),
      ...(network && { network }),
      fs,
      runtime: { imageFs: runtimeFs(images), containerFs: runtimeFs(layers) },
      rlimit: { time: apiTime(atMs), ...(max && { maxpid: max }), ...(current && { curproc: current }) },
    },
    pods: await mapInSlices(
      pods.pods,
      (pod) => podStats(pod, groups, pods, { node, storage, volumes: volumeUsage(pod.ref), layers: measured }),
      clock,
      signal,
    ),
  };
}

/**
 * Returns the stats of the runtime's image or layer file system (`ImageFsStats`, `cri_stats_provider.go`,
 * `cadvisor_stats_provider.go`).
 */
function runtimeFs({ usage, disk }: UsedFs): FsStats {
  return {
    time: apiTime(usage.timestamp / 1e6),
    ...(disk && { availableBytes: disk.availableBytes, capacityBytes: disk.totalBytes, ...inodes(disk) }),
    ...(usage.usedBytes && { usedBytes: usage.usedBytes.value }),
    ...(usage.inodesUsed && { inodesUsed: usage.inodesUsed.value }),
  };
}

/**
 * Builds the response with `only_cpu_and_memory` (`GetCPUAndMemoryStats`). The event loop is served in between.
 * @throws StatsError `Unavailable`; the signal's reason
 */
export async function resourceSummary(
  groups: GroupCollection,
  { nodeName, startedAtMs, clock }: Pick<SummaryContext, 'nodeName' | 'startedAtMs' | 'clock'>,
  signal?: AbortSignal,
): Promise<NodeSummary> {
  const root = rootOf(groups);
  const pods = podsOf(groups);
  const node: NodeStats = {
    nodeName,
    ...systemContainers(groups, startedAtMs, false),
    startTime: apiTime(groups.bootedAtMs),
    ...partsOfGroup(root, groups.rates.get('/')),
  };
  return { node, pods: await mapInSlices(pods.pods, (pod) => podStats(pod, groups, pods), clock, signal) };
}

/** Maps a list and serves the event loop in between. */
async function mapInSlices<T, R>(
  items: readonly T[],
  map: (item: T) => R,
  clock: SummaryContext['clock'],
  signal: AbortSignal | undefined,
): Promise<readonly R[]> {
  const slice = new TimeSlice({ clock });
  const mapped: R[] = [];
  for (const item of items) {
    mapped.push(map(item));
    if (slice.isDue()) await slice.pause(signal);
  }
  return mapped;
}

/** Returns the root cgroup. The root cgroup has no memory limit, so the machine's memory is used as the limit. */
export function rootOf({ groups, memoryBytes, swapBytes }: GroupCollection): GroupFigures {
  const root = groups.get('/');
  if (root === undefined)
    throw new StatsError('Unavailable', 'failed to get root cgroup stats: the root cgroup has none');
  if (root.memory === undefined || memoryBytes === undefined) return root;
  const limits = { limitBytes: memoryBytes, ...(swapBytes !== undefined && { swapLimitBytes: swapBytes }) };
  return { ...root, memory: { ...root.memory, ...limits } };
}

function podsOf({ pods }: GroupCollection): PodCollection {
  return fulfilled(pods, 'failed to list pod stats');
}

function fulfilled<T>(result: PromiseSettledResult<T>, what: string): T {
  if (result.status === 'fulfilled') return result.value;
  throw new StatsError('Unavailable', `${what}: ${errorText(result.reason)}`, { cause: result.reason });
}

function systemContainers(
  { system, groups, rates }: GroupCollection,
  startedAtMs: number,
  all: boolean,
): { readonly systemContainers?: readonly ContainerStats[] } {
  const stats = system.flatMap(({ name, path }): ContainerStats[] => {
    const shown = groups.get(path);
    if (shown === undefined) return [];
    const io = all ? ioOfGroup(shown) : undefined;
    const startTime = apiTime(name === 'kubelet' ? startedAtMs : shown.createdAtMs);
    return [{ name, startTime, ...partsOfGroup(shown, rates.get(path)), ...(io && { io }) }];
  });
  return stats.length > 0 ? { systemContainers: stats } : {};
}

function inodes({ inodes: all, freeInodes }: { readonly inodes: number; readonly freeInodes: number }) {
  return { inodesFree: freeInodes, inodes: all };
}
