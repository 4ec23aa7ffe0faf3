import type { CpuFigures, GroupFigures, MemoryFigures } from './group-figures.ts';
import { workingSet } from './group-figures.ts';
import type { GroupTexts } from './group-files.ts';
import { blkioStat, count, keyedCounts, limit } from './kernel-text.ts';

/**
 * Unit of user and system time in the kernel's files (USER_HZ), in ns. The unit does not depend on the kernel's timer
 * frequency.
 */
const NS_PER_TICK = 1e7;

type Figures = Pick<GroupFigures, 'cpu' | 'memory' | 'io'>;

/** Parses the files of a cgroup of cgroup v1 (`setCPUStats`, `setMemoryStats` of cAdvisor). */
export function figuresV1(texts: GroupTexts): Figures {
  const cpu = cpuFigures(texts);
  const memory = memoryFigures(texts);
  const of = (kind: string, what: string): string | undefined => texts.get(`blkio.${kind}.${what}_recursive`);
  const devices = ['bfq', 'throttle']
    .map((kind) => blkioStat(of(kind, 'io_service_bytes'), of(kind, 'io_serviced')))
    .find((found) => found.length > 0);
  return { ...(cpu && { cpu }), ...(memory && { memory }), ...(devices && { io: { devices } }) };
}

function cpuFigures(texts: GroupTexts): CpuFigures | undefined {
  const usageNs = count(texts.get('cpuacct.usage'));
  if (usageNs === undefined) return undefined;
  const modes = keyedCounts(texts.get('cpuacct.stat'));
  const stat = keyedCounts(texts.get('cpu.stat'));
  return defined({
    usageNs,
    userNs: times(modes.get('user'), NS_PER_TICK),
    systemNs: times(modes.get('system'), NS_PER_TICK),
    periods: stat.get('nr_periods'),
    throttledPeriods: stat.get('nr_throttled'),
    throttledNs: stat.get('throttled_time'),
    burstPeriods: stat.get('nr_bursts'),
    burstNs: stat.get('burst_time'),
    shares: count(texts.get('cpu.shares')),
    quotaUs: limit(texts.get('cpu.cfs_quota_us')),
    periodUs: count(texts.get('cpu.cfs_period_us')),
  });
}

function memoryFigures(texts: GroupTexts): MemoryFigures | undefined {
  const usageBytes = count(texts.get('memory.usage_in_bytes'));
  if (usageBytes === undefined) return undefined;
  const stat = keyedCounts(texts.get('memory.stat'));
  const total = (name: string): number => stat.get(`total_${name}`) ?? 0;
  const inactiveFileBytes = total('inactive_file');
  return defined({
    usageBytes,
    workingSetBytes: workingSet(usageBytes, inactiveFileBytes),
    rssBytes: total('rss'),
    cacheBytes: total('cache'),
    mappedFileBytes: total('mapped_file'),
    swapBytes: total('swap'),
    activeFileBytes: total('active_file'),
    inactiveFileBytes,
    pageFaults: stat.get('pgfault') ?? 0,
    majorPageFaults: stat.get('pgmajfault') ?? 0,
    kernelBytes: count(texts.get('memory.kmem.usage_in_bytes')),
    maxUsageBytes: count(texts.get('memory.max_usage_in_bytes')),
    limitHits: count(texts.get('memory.failcnt')),
    oomKills: keyedCounts(texts.get('memory.oom_control')).get('oom_kill'),
    limitBytes: limit(texts.get('memory.limit_in_bytes')),
    swapLimitBytes: limit(texts.get('memory.memsw.limit_in_bytes')),
    reservationBytes: limit(texts.get('memory.soft_limit_in_bytes')),
  });
}

export function times(value: number | undefined, factor: number): number | undefined {
  return value === undefined ? undefined : value * factor;
}

/** Removes undefined values. */
export function defined<T extends object>(values: { readonly [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T;
}
