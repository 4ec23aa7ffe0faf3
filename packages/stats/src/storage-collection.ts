import type { FilesystemUsage } from '@node-agent/cri-client';
import type { FileSystemSize } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';
import { type FileUse, useOfFile, useOfFilesIn } from './file-use.ts';
import type { KernelReads } from './kernel-reads.ts';
import { limit, taskCount } from './kernel-text.ts';
import type { ListedPod } from './pod-listing.ts';
import type { StatsComponents, StatsOptions } from './ports.ts';
import type { RuntimeReader } from './runtime-reader.ts';

/** Size of a file system, with the wall-clock time of the read. */
export interface Disk extends FileSystemSize {
  readonly atMs: number;
}

/** Usage of files and file systems at one time. */
export interface StorageCollection {
  /** File system of the kubelet's root directory. */
  readonly node: PromiseSettledResult<Disk>;
  readonly runtime: PromiseSettledResult<RuntimeFs>;
  /** File systems by the mount points that the runtime reports; those that did not respond are absent. */
  readonly disks: ReadonlyMap<string, Disk>;
  /** Log usage by container id. */
  readonly logs: ReadonlyMap<string, FileUse>;
  /** Other files of pods, by UID: logs directly in the pod's log directory, and the hosts file. */
  readonly podFiles: ReadonlyMap<string, readonly FileUse[]>;
  readonly processes: { readonly atMs: number; readonly max?: number; readonly current?: number };
}

/** A file system of the runtime. */
export interface UsedFs {
  readonly usage: FilesystemUsage;
  /** Size; absent if the mount point is unknown here or does not respond. */
  readonly disk?: Disk;
}

interface RuntimeFs {
  readonly images: UsedFs;
  /** The image file system, if writable layers are on it too. */
  readonly layers: UsedFs;
}

interface Parts extends Pick<StatsComponents, 'fs' | 'disks'> {
  readonly reads: KernelReads;
  readonly clock: { now(): number };
  readonly logger: Logger;
  readonly runtime: Pick<RuntimeReader, 'fileSystems'>;
}

/** Reads the usage of pods' files and the sizes of file systems. @param places mount points of writable layers */
export async function collectStorage(
  parts: Parts,
  options: Pick<StatsOptions, 'rootDirectory' | 'podLogsDirectory'>,
  pods: readonly ListedPod[],
  places: Iterable<string>,
  signal: AbortSignal,
): Promise<StorageCollection> {
  const { fs, clock, logger } = parts;
  const disk = async (path: string): Promise<Disk> => ({
    ...(await parts.disks.statfs(path, signal)),
    atMs: clock.now(),
  });
  const known = new Map<string, Promise<Disk | undefined>>();
  const diskOrNone = (path: string): Promise<Disk | undefined> => {
    const asked =
      known.get(path) ??
      disk(path).catch((err: unknown) => {
        logger.debug({ err, path }, 'Failed to get the info of the filesystem with mountpoint');
        return undefined;
      });
    known.set(path, asked);
    return asked;
  };
  const used = async (usage: FilesystemUsage): Promise<UsedFs> => {
    const place = usage.fsId?.mountpoint;
    const found = place === undefined ? undefined : await diskOrNone(place);
    return { usage, ...(found && { disk: found }) };
  };
  const runtimeFs = async (): Promise<RuntimeFs> => {
    const { images: told, layers } = await parts.runtime.fileSystems(signal);
    if (told === undefined) throw new Error('imageFs information is unavailable');
    const images = await used(told);
    const place = layers?.fsId?.mountpoint;
    return { images, layers: layers && place && place !== told.fsId?.mountpoint ? await used(layers) : images };
  };
  for (const place of places) void diskOrNone(place);
  const [[node, runtime], files, processes] = await Promise.all([
    Promise.allSettled([disk(options.rootDirectory), runtimeFs()]),
    filesOfPods({ fs, logger }, options, pods, signal),
    processCounts(parts.reads, clock),
  ]);
  const disks = new Map<string, Disk>();
  for (const [path, asked] of known) {
    const found = await asked;
    if (found !== undefined) disks.set(path, found);
  }
  return { node, runtime, disks, ...files, processes };
}

async function filesOfPods(
  { fs, logger }: Pick<Parts, 'fs' | 'logger'>,
  { rootDirectory, podLogsDirectory }: Pick<StatsOptions, 'rootDirectory' | 'podLogsDirectory'>,
  pods: readonly ListedPod[],
  signal: AbortSignal,
): Promise<Pick<StorageCollection, 'logs' | 'podFiles'>> {
  const logs = new Map<string, FileUse>();
  const podFiles = new Map<string, readonly FileUse[]>();
  // The pods are read one after another, because only the caller of the summary waits for the result.
  for (const { ref, containers } of pods) {
    signal.throwIfAborted();
    const { namespace, name, uid } = ref;
    const directory = `${podLogsDirectory}/${namespace}_${name}_${uid}`;
    // If a file cannot be read, only the usage of this file is missing.
    const orNone = (asked: Promise<FileUse | undefined>): Promise<FileUse | undefined> =>
      asked.catch((err: unknown) => {
        logger.warn({ err, pod: `${namespace}/${name}` }, 'Failed to read files of a pod, not counting them');
        return undefined;
      });
    for (const container of containers) {
      const use = await orNone(useOfFilesIn(fs, `${directory}/${container.name}`));
      if (use !== undefined) logs.set(container.id, use);
    }
    const own = [
      await orNone(useOfFilesIn(fs, directory)),
      await orNone(useOfFile(fs, `${rootDirectory}/pods/${uid}/etc-hosts`)),
    ].filter((use) => use !== undefined);
    podFiles.set(uid, own);
  }
  return { logs, podFiles };
}

/** Reads the lower of the kernel's two process limits and the number of threads (upstream: `pidlimit.Stats`). */
async function processCounts(reads: KernelReads, clock: { now(): number }): Promise<StorageCollection['processes']> {
  const read = (path: string): Promise<string | undefined> => reads.textOrNone(path);
  const limits = await Promise.all(['pid_max', 'threads-max'].map((name) => read(`/proc/sys/kernel/${name}`)));
  const known = limits.map(limit).filter((value) => value !== undefined);
  const current = taskCount(await read('/proc/loadavg'));
  return {
    atMs: clock.now(),
    ...(known.length > 0 && { max: Math.min(...known) }),
    ...(current !== undefined && { current }),
  };
}
