import { type Clock, encodePortions } from '@node-agent/async';
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
  return [...jsonParts(summary)].join('');
}

/**
 * Serializes a summary as {@link summaryJson} does, in UTF-8 and in portions, between which the event loop is served.
 * @throws the signal's reason
 */
export function summaryPortions(
  summary: NodeSummary,
  components: { readonly clock: Pick<Clock, 'monotonic' | 'setTimer'> },
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  return encodePortions(jsonParts(summary), components, signal);
}

/** Returns the JSON of a summary in parts: one for the node, and one for each pod. */
function* jsonParts({ node, pods }: NodeSummary): Generator<string, void, undefined> {
  yield `{"node":${JSON.stringify(node, shown)},"pods":[`;
  for (const [index, pod] of pods.entries()) yield `${index === 0 ? '' : ','}${JSON.stringify(pod, shown)}`;
  yield ']}';
}

/** Replaces values for {@link summaryJson}. */
function shown(key: string, value: unknown): unknown {
  if (typeof value === 'number') return isReadable(value) ? value : undefined;
  if (key === 'volume' && Array.isArray(value)) return value.map(knownOfVolume);
  return (key === 'time' || key === 'startTime') && typeof value === 'string' ? `${value.slice(0, 19)}Z` : value;
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
