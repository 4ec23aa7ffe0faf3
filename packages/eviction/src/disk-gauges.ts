import type { Gauge } from './headroom.ts';
import type { Signal } from './signals.ts';

/** How much of a file system is left, as `statfs(2)` tells it. */
export interface DiskLeft {
  readonly availableBytes: number;
  readonly freeInodes: number;
}

/** Who can be asked that; it may hang. `nodeForeignFiles` of host is one. */
export interface GaugeDisks {
  statfs(path: string, signal?: AbortSignal): Promise<DiskLeft>;
}

/** A path on each of the node's disks; the same one where they are one disk. */
export interface DiskPlaces {
  readonly nodefs: string;
  readonly imagefs: string;
  readonly containerfs: string;
}

/** What is written goes through memory, which can be dirtied about that fast. Space that is taken without writing (`fallocate`) has no bound. */
const BYTES_PER_SECOND = 2 ** 31;
/** Empty files, made on several CPUs in the memory of a file system. */
const INODES_PER_SECOND = 200_000;
/** A disk that is nearly full may stay so for months. */
const QUIET_MS = 1000;

const DISKS = ['nodefs', 'imagefs', 'containerfs'] as const;

/**
 * Gauges of the node's disks. Those on one disk that are read together ask it once.
 * @param places asked at each reading; it may change, and throw while it is not known yet
 */
export function diskGauges(disks: GaugeDisks, places: () => DiskPlaces): readonly Gauge[] {
  const asked = new Map<string, Promise<DiskLeft>>();
  const left = (path: string): Promise<DiskLeft> => {
    const before = asked.get(path);
    if (before !== undefined) return before;
    // Who gives up waits for it no longer; the others do.
    const answer = disks.statfs(path).finally(() => asked.delete(path));
    asked.set(path, answer);
    return answer;
  };
  const gauge = (signal: Signal, disk: keyof DiskPlaces, perSecond: number, of: keyof DiskLeft): Gauge => ({
    ...{ signal, perSecond, quietMs: QUIET_MS },
    available: async () => (await left(places()[disk]))[of],
  });
  return DISKS.flatMap((disk) => [
    gauge(`${disk}.available`, disk, BYTES_PER_SECOND, 'availableBytes'),
    gauge(`${disk}.inodesFree`, disk, INODES_PER_SECOND, 'freeInodes'),
  ]);
}
