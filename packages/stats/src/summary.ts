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

/** Formats a wall-clock time for the API. @param ms since the Unix epoch; 0 or less means unknown */
export function apiTime(ms: number | undefined): ApiTime {
  if (ms === undefined || !(ms > 0) || ms > MAX_TIME_MS) return null;
  return new Date(ms).toISOString();
}

/**
 * End of the year 9999: later times have more than four digits for the year, and some values that a runtime may report
 * are not valid dates.
 */
const MAX_TIME_MS = 253_402_300_799_999;

/**
 * Serializes a summary for `/stats/summary`. Numbers that are not valid counts are omitted: clients parse unsigned
 * 64-bit numbers, and one invalid number would make the whole response unreadable.
 */
export function summaryJson(summary: NodeSummary): string {
  return JSON.stringify(summary, (key, value: unknown) => {
    if (typeof value === 'number') return isReadable(value) ? value : undefined;
    if (key === 'volume' && Array.isArray(value)) return value.map(knownOfVolume);
    return (key === 'time' || key === 'startTime') && typeof value === 'string' ? `${value.slice(0, 19)}Z` : value;
  });
}

/** Removes the values of a volume that are only lower bounds. */
function knownOfVolume(volume: VolumeStats): VolumeStats {
  if (!volume.isLowerBound) return volume;
  const { usedBytes: _bytes, inodesUsed: _inodes, isLowerBound, ...known } = volume;
  return known;
}

/** Returns whether a number is a valid count. A number below 0, or above 63 bits, is an underflowed counter. */
function isReadable(value: number): boolean {
  return value >= 0 && value < 2 ** 63;
}
