import { defined, times } from './figures-v1.ts';
import type { CpuFigures, GroupFigures, MemoryFigures } from './group-figures.ts';
import { workingSet } from './group-figures.ts';
import type { GroupTexts } from './group-files.ts';
import { count, ioStat, keyedCounts, limit, pressure } from './kernel-text.ts';

const NS_PER_US = 1000;

type Figures = Pick<GroupFigures, 'cpu' | 'memory' | 'io'>;

/** Parses the files of a cgroup of cgroup v2. */
export function figuresV2(texts: GroupTexts): Figures {
  const cpu = cpuFigures(texts);
  const memory = memoryFigures(texts);
  const devices = ioStat(texts.get('io.stat'));
  const psi = pressure(texts.get('io.pressure'));
  return {
    ...(cpu && { cpu }),
    ...(memory && { memory }),
    ...((devices.length > 0 || psi) && { io: { devices, ...(psi && { psi }) } }),
  };
}

function cpuFigures(texts: GroupTexts): CpuFigures | undefined {
  const stat = keyedCounts(texts.get('cpu.stat'));
  const usageUs = stat.get('usage_usec');
  if (usageUs === undefined) return undefined;
  const [quota, period] = texts.get('cpu.max')?.trim().split(' ') ?? [];
  return defined({
    usageNs: usageUs * NS_PER_US,
    userNs: times(stat.get('user_usec'), NS_PER_US),
    systemNs: times(stat.get('system_usec'), NS_PER_US),
    periods: stat.get('nr_periods'),
    throttledPeriods: stat.get('nr_throttled'),
    throttledNs: times(stat.get('throttled_usec'), NS_PER_US),
    burstPeriods: stat.get('nr_bursts'),
    burstNs: times(stat.get('burst_usec'), NS_PER_US),
    shares: sharesOfWeight(count(texts.get('cpu.weight'))),
    quotaUs: limit(quota),
    periodUs: count(period),
    psi: pressure(texts.get('cpu.pressure')),
  });
}

/**
 * Converts weights (1 to 10000) linearly to shares (2 to 262144), as cAdvisor shows them
 * (`convertCPUWeightToCPULimit`).
 */
function sharesOfWeight(weight: number | undefined): number | undefined {
  if (weight === undefined || weight < 1 || weight > 10_000) return undefined;
  return 2 + Math.floor(((weight - 1) * 262_142) / 9999);
}

function memoryFigures(texts: GroupTexts): MemoryFigures | undefined {
  const stat = keyedCounts(texts.get('memory.stat'));
  const of = (name: string): number => stat.get(name) ?? 0;
  // The root cgroup has no `memory.current`. The usage of the root cgroup is the sum of anonymous and file memory, as
  // on cgroup v1.
  const usageBytes = count(texts.get('memory.current')) ?? (stat.has('anon') ? of('anon') + of('file') : undefined);
  if (usageBytes === undefined) return undefined;
  const inactiveFileBytes = of('inactive_file');
  const events = keyedCounts(texts.get('memory.events'));
  return defined({
    usageBytes,
    workingSetBytes: workingSet(usageBytes, inactiveFileBytes),
    rssBytes: of('anon'),
    cacheBytes: of('file'),
    mappedFileBytes: of('file_mapped'),
    swapBytes: count(texts.get('memory.swap.current')) ?? 0,
    activeFileBytes: of('active_file'),
    inactiveFileBytes,
    pageFaults: of('pgfault'),
    majorPageFaults: of('pgmajfault'),
    kernelBytes: stat.get('kernel'),
    maxUsageBytes: count(texts.get('memory.peak')),
    limitHits: events.get('max'),
    oomKills: events.get('oom_kill'),
    limitBytes: limit(texts.get('memory.max')),
    swapLimitBytes: limit(texts.get('memory.swap.max')),
    reservationBytes: limit(texts.get('memory.min')),
    psi: pressure(texts.get('memory.pressure')),
  });
}
