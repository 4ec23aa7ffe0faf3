import type { ApiTime, NodeSummary, VolumeStats } from '@node-agent/contracts';

export type {
  ApiTime,
  ContainerStats,
  CpuStats,
  FsStats,
  InterfaceStats,
  IoStats,
  MemoryStats,
  NetworkStats,
  NodeStats,
  NodeSummary,
  PodReference,
  PodStats,
  ProcessStats,
  PsiData,
  PsiStats,
  RlimitStats,
  RuntimeStats,
  SwapStats,
  VolumeStats,
} from '@node-agent/contracts';

/** A time of the wall clock as the API has it. @param ms since the Unix epoch; 0 and less: unknown */
export function apiTime(ms: number | undefined): ApiTime {
  if (ms === undefined || !(ms > 0) || ms > MAX_TIME_MS) return null;
  return new Date(ms).toISOString();
}

/** The end of the year 9999: no later time has four digits of a year, and some that a runtime may tell are no dates at all. */
const MAX_TIME_MS = 253_402_300_799_999;

/**
 * A summary as `/stats/summary` sends it. A number that no count can be is left out, whoever told it: its readers take 64 bits
 * without a sign, and one that is not would cost them the whole answer.
 */
export function summaryJson(summary: NodeSummary): string {
  return JSON.stringify(summary, (key, value: unknown) => {
    if (typeof value === 'number') return isReadable(value) ? value : undefined;
    if (key === 'volume' && Array.isArray(value)) return value.map(knownOfVolume);
    return (key === 'time' || key === 'startTime') && typeof value === 'string' ? `${value.slice(0, 19)}Z` : value;
  });
}

/** Without what is known in part. */
function knownOfVolume(volume: VolumeStats): VolumeStats {
  if (!volume.isLowerBound) return volume;
  const { usedBytes: _bytes, inodesUsed: _inodes, isLowerBound, ...known } = volume;
  return known;
}

/** What is below 0 or has more than 63 bits is a counter of somebody's that went below 0. */
function isReadable(value: number): boolean {
  return value >= 0 && value < 2 ** 63;
}
