import type { Gauge } from './headroom.ts';
import type { Signal } from './signals.ts';

/** Free space and inodes of a file system, from `statfs(2)`. */
export interface DiskSpace {
  readonly availableBytes: number;
  readonly freeInodes: number;
}

/** Port that reads `statfs(2)`; a call may hang. `nodeForeignFiles` of `@node-agent/host` implements it. */
export interface GaugeDisks {
  statfs(path: string, signal?: AbortSignal): Promise<DiskSpace>;
}

/** Paths of the node's file systems, one on each; the paths may be equal if the file systems are the same. */
export interface DiskPaths {
  readonly nodefs: string;
  readonly imagefs: string;
  readonly containerfs: string;
}

/**
 * Upper bound of the fill rate by writing: written data passes through memory, which can be dirtied at about this rate.
 * Space that is allocated without writing (`fallocate`) has no bound.
 */
const BYTES_PER_SECOND = 2 ** 31;
/** Upper bound of the inode rate: empty files created on several CPUs in a file system's cache. */
const INODES_PER_SECOND = 200_000;
/** Minimum period while the gauge does not shrink: a disk may stay nearly full for months. */
const QUIET_MS = 1000;

const DISKS = ['nodefs', 'imagefs', 'containerfs'] as const;

/**
 * Returns gauges for the node's disks. Gauges on the same disk that are read at the same time share one `statfs` call.
 * @param paths called at each read; the result may change, and the call may throw while the paths are not known yet
 */
export function diskGauges(disks: GaugeDisks, paths: () => DiskPaths): readonly Gauge[] {
  const requests = new Map<string, Promise<DiskSpace>>();
  const read = (path: string): Promise<DiskSpace> => {
    const inProgress = requests.get(path);
    if (inProgress !== undefined) return inProgress;
    // A caller that times out stops waiting; the shared call continues for the other callers.
    const request = disks.statfs(path).finally(() => requests.delete(path));
    requests.set(path, request);
    return request;
  };
  const gauge = (signal: Signal, disk: keyof DiskPaths, perSecond: number, of: keyof DiskSpace): Gauge => ({
    ...{ signal, perSecond, quietMs: QUIET_MS },
    available: async () => (await read(paths()[disk]))[of],
  });
  return DISKS.flatMap((disk) => [
    gauge(`${disk}.available`, disk, BYTES_PER_SECOND, 'availableBytes'),
    gauge(`${disk}.inodesFree`, disk, INODES_PER_SECOND, 'freeInodes'),
  ]);
}
