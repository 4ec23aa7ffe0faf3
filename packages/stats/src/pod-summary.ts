import type { ContainerStats as CriContainerStats } from '@node-agent/cri-client';
import { addUse, type FileUse } from './file-use.ts';
import type { GroupCollection, PodCollection } from './group-collection.ts';
import type { ListedContainer, ListedPod } from './pod-listing.ts';
import type { VolumeFigures } from './ports.ts';
import type { Disk, StorageCollection } from './storage-collection.ts';
import {
  apiTime,
  type ContainerStats,
  type FsStats,
  type IoStats,
  type NetworkStats,
  type PodStats,
  type ProcessStats,
  type VolumeStats,
} from './summary.ts';
import {
  ioOfGroup,
  ioOfRuntime,
  networkOfGroup,
  networkOfRuntime,
  partsOfGroup,
  partsOfRuntime,
  type ResourceParts,
  sumOfParts,
} from './summary-parts.ts';
import type { LayerUse } from './writable-layers.ts';

/** File stats; absent if only CPU and memory are requested. */
export interface PodStorage {
  readonly node: Disk;
  readonly storage: StorageCollection;
  readonly volumes: readonly VolumeFigures[];
  /** Writable layers that were measured by this package, by container id. */
  readonly layers: ReadonlyMap<string, LayerUse>;
}

/**
 * Builds the stats of one pod (`listPodStatsPartiallyFromCRI` and `listPodStatsStrictlyFromCRI`,
 * `cri_stats_provider.go`).
 */
export function podStats(
  pod: ListedPod,
  collection: GroupCollection,
  told: PodCollection,
  files?: PodStorage,
): PodStats {
  const containers = pod.containers.map((container) => containerStats(pod, container, collection, told, files));
  const { network, processes, io, ...parts } = ofPod(pod, collection, told, containers);
  return {
    podRef: pod.ref,
    startTime: apiTime(pod.createdAtMs),
    containers,
    ...parts,
    ...(files && {
      ...(io && { io }),
      ...(network && { network }),
      ...(files.volumes.length > 0 && { volume: files.volumes.map(volumeStats) }),
      'ephemeral-storage': ephemeralStorage(pod, containers, files),
      ...(processes && { process_stats: processes }),
    }),
  };
}

interface PodFigures extends ResourceParts {
  readonly io?: IoStats | undefined;
  readonly network?: NetworkStats | undefined;
  readonly processes?: ProcessStats | undefined;
}

/**
 * Returns a pod's stats: the runtime's if they are used, else those of the pod's cgroup, else the sum of its
 * containers.
 */
function ofPod(
  { ref, sandboxId, containers: listed }: ListedPod,
  { podGroups, groups, rates }: GroupCollection,
  { sandboxes }: PodCollection,
  containers: readonly ContainerStats[],
): PodFigures {
  const linux = sandboxes?.get(sandboxId)?.linux;
  if (linux) {
    const { swap } = sumOfParts(containers);
    return {
      ...partsOfRuntime(linux, rates.get(sandboxId)),
      ...(swap && { swap }),
      io: ioOfRuntime(linux.io),
      network: networkOfRuntime(linux.network),
      processes: linux.process?.processCount ? { process_count: linux.process.processCount.value } : undefined,
    };
  }
  const group = podGroups.pods.get(ref.uid);
  const figures = group && groups.get(group.path);
  const sandbox = lookUp(groups, group?.containers.get(sandboxId));
  const counts = listed.flatMap(({ id }) => lookUp(groups, group?.containers.get(id))?.processes?.processes ?? []);
  return {
    ...(figures ? partsOfGroup(figures, rates.get(figures.path)) : sumOfParts(containers)),
    io: figures && ioOfGroup(figures),
    network: sandbox && networkOfGroup(sandbox),
    processes: counts.length > 0 ? { process_count: counts.reduce((a, b) => a + b, 0) } : undefined,
  };
}

function containerStats(
  { ref }: ListedPod,
  { id, name, createdAtMs }: ListedContainer,
  { podGroups, groups, rates }: GroupCollection,
  { containers, sandboxes }: PodCollection,
  files: PodStorage | undefined,
): ContainerStats {
  const told = containers.get(id);
  const path = sandboxes === undefined ? podGroups.pods.get(ref.uid)?.containers.get(id) : undefined;
  const group = lookUp(groups, path);
  const io = group ? ioOfGroup(group) : told && ioOfRuntime(told.io);
  return {
    name,
    startTime: apiTime(createdAtMs),
    // The cgroup's values replace those of the runtime.
    ...(told && !(group?.cpu && group.memory) && partsOfRuntime(told, rates.get(id))),
    ...(group && partsOfGroup(group, rates.get(group.path))),
    ...(files && {
      ...(io && { io }),
      ...(told && { rootfs: rootfsStats(told, files.storage.disks, files.layers.get(id)) }),
      ...logStats(files, files.storage.logs.get(id)),
    }),
  };
}

/** Returns the runtime's stats of the writable layer, or the measured ones if they are newer. */
function rootfsStats(
  { writableLayer }: CriContainerStats,
  disks: StorageCollection['disks'],
  measured: LayerUse | undefined,
): FsStats {
  const disk = lookUp(disks, writableLayer?.fsId?.mountpoint);
  const told = {
    atMs: writableLayer ? writableLayer.timestamp / 1e6 : undefined,
    ...(writableLayer?.usedBytes && { usedBytes: writableLayer.usedBytes.value }),
    ...(writableLayer?.inodesUsed && { inodesUsed: writableLayer.inodesUsed.value }),
  };
  const isOlder = measured !== undefined && told.atMs !== undefined && told.atMs >= measured.atMs;
  const { atMs, ...use } = measured === undefined || isOlder ? told : measured;
  return { time: apiTime(atMs), ...(disk && sizeOf(disk)), ...use };
}

/** Returns the log stats of a container, with the capacity of the node's file system, which has the logs. */
function logStats({ node }: PodStorage, use: FileUse | undefined): { readonly logs?: FsStats } {
  return use === undefined ? {} : { logs: { time: apiTime(node.atMs), ...sizeOf(node), ...use } };
}

/** Returns the pod's total usage of the node's file system (`calcEphemeralStorage`, `helper.go`). */
function ephemeralStorage(
  { ref }: ListedPod,
  containers: readonly ContainerStats[],
  { node, storage, volumes }: PodStorage,
): FsStats {
  const ofContainers = containers.flatMap(({ rootfs, logs }) => (rootfs ? [rootfs, logs] : []));
  const local = volumes.filter(({ isLocalEphemeral }) => isLocalEphemeral);
  const use = addUse(...ofContainers, ...local, ...(storage.podFiles.get(ref.uid) ?? []));
  return { time: apiTime(node.atMs), ...sizeOf(node), ...use };
}

/** Returns the stats of a volume. Unknown values are 0, as in upstream (`parsePodVolumeStats`). */
function volumeStats({ name, observedAtMs, claim, abnormal, isLowerBound, ...figures }: VolumeFigures): VolumeStats {
  return {
    time: apiTime(observedAtMs),
    availableBytes: figures.availableBytes ?? 0,
    capacityBytes: figures.capacityBytes ?? 0,
    usedBytes: figures.usedBytes ?? 0,
    inodesFree: figures.inodesFree ?? 0,
    inodes: figures.inodes ?? 0,
    inodesUsed: figures.inodesUsed ?? 0,
    name,
    ...(claim && { pvcRef: claim }),
    ...(abnormal !== undefined && { volumeHealthStats: { abnormal } }),
    ...(isLowerBound && { isLowerBound }),
  };
}

function lookUp<T>(map: ReadonlyMap<string, T>, key: string | undefined): T | undefined {
  return key === undefined ? undefined : map.get(key);
}

function sizeOf({ availableBytes, totalBytes, freeInodes, inodes }: Disk) {
  return { availableBytes, capacityBytes: totalBytes, inodesFree: freeInodes, inodes };
}
