import { type Clock, withTimeout } from '@node-agent/async';
import type { FileSystemSize } from '@node-agent/host';
import { count } from './kernel-text.ts';
import type { StatsComponents } from './ports.ts';

/** A mounted file system with its size, and its device's counters. */
export interface FileSystemUse {
  /** Device path, for example `/dev/sda1`. */
  readonly device: string;
  readonly size: FileSystemSize;
  readonly disk?: DiskFigures;
}

/** A line of `/proc/diskstats`. */
export interface DiskFigures {
  readonly reads: number;
  readonly readsMerged: number;
  readonly sectorsRead: number;
  readonly readMs: number;
  readonly writes: number;
  readonly writesMerged: number;
  readonly sectorsWritten: number;
  readonly writeMs: number;
  readonly inProgress: number;
  readonly ioMs: number;
  readonly weightedMs: number;
}

interface Mounted {
  readonly device: string;
  readonly key: string;
  readonly mountPoint: string;
}

interface Parts extends Pick<StatsComponents, 'fs' | 'disks'> {
  readonly clock: Pick<Clock, 'setTimer'>;
}

/**
 * Maximum number of file systems that are queried: each query costs a call, and a machine may mount thousands of file
 * systems.
 */
const MAX_FILE_SYSTEMS = 64;
/** Maximum time for the response of one file system, in ms. Scrapers wait 10 s for the whole page. */
const ANSWER_MS = 3000;

/**
 * Returns the mounted file systems on devices, each device once. A file system that does not respond in time is
 * omitted.
 */
export async function readFileSystems(
  { fs, disks, clock }: Parts,
  signal: AbortSignal,
): Promise<readonly FileSystemUse[]> {
  const [mountinfo, diskstats] = await Promise.all(
    ['/proc/self/mountinfo', '/proc/diskstats'].map(async (path) => {
      try {
        return new TextDecoder().decode(await fs.readFile(path));
      } catch {
        return '';
      }
    }),
  );
  const figures = diskFigures(diskstats ?? '');
  const uses = await Promise.allSettled(
    mountedDevices(mountinfo ?? '')
      .slice(0, MAX_FILE_SYSTEMS)
      .map(async ({ device, key, mountPoint }) => {
        const disk = figures.get(key);
        const asking = (limited: AbortSignal) => disks.statfs(mountPoint, limited);
        return { device, size: await withTimeout(clock, ANSWER_MS, asking, signal), ...(disk && { disk }) };
      }),
  );
  return uses.flatMap((use) => (use.status === 'fulfilled' ? [use.value] : []));
}

/**
 * Returns the first mount point of each block device. FUSE file systems are skipped although many have `/dev/fuse` as
 * their source; cAdvisor skips them too.
 */
export function mountedDevices(mountinfo: string): readonly Mounted[] {
  const byDevice = new Map<string, Mounted>();
  for (const line of mountinfo.split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const [, , key = '', , mountPoint = ''] = before.split(' ');
    const [type = '', source = ''] = after.split(' ');
    const device = unescaped(source);
    if (device.startsWith('/dev/') && !/^fuse(?:blk)?(?:\.|$)/.test(type) && !byDevice.has(key)) {
      byDevice.set(key, { device, key, mountPoint: unescaped(mountPoint) });
    }
  }
  return [...byDevice.values()];
}

/** Parses `/proc/diskstats`, by `major:minor`. */
export function diskFigures(diskstats: string): ReadonlyMap<string, DiskFigures> {
  const disks = new Map<string, DiskFigures>();
  for (const line of diskstats.split('\n')) {
    const [major, minor, , ...values] = line.trim().split(/\s+/);
    const figures = values.slice(0, 11).map(count);
    if (figures.length < 11 || figures.includes(undefined)) continue;
    const [reads = 0, readsMerged = 0, sectorsRead = 0, readMs = 0, writes = 0, writesMerged = 0] = figures;
    const [sectorsWritten = 0, writeMs = 0, inProgress = 0, ioMs = 0, weightedMs = 0] = figures.slice(6);
    disks.set(`${major}:${minor}`, {
      ...{ reads, readsMerged, sectorsRead, readMs, writes, writesMerged, sectorsWritten, writeMs },
      ...{ inProgress, ioMs, weightedMs },
    });
  }
  return disks;
}

/** Decodes octal escapes of `mountinfo`: blanks, commas, backslashes and similar characters. */
export function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_match, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
}

/** Parses `/proc/partitions` into device names such as `/dev/vda`, by `major:minor`. */
export function deviceNames(partitions: string): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const line of partitions.split('\n')) {
    const [, major, minor, name] = /^\s*(\d+)\s+(\d+)\s+\d+\s+(\S+)$/.exec(line) ?? [];
    if (name !== undefined) names.set(`${major}:${minor}`, `/dev/${name}`);
  }
  return names;
}
