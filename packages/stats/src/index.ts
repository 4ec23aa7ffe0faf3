export { type CpuSample, usageNanoCores } from './cpu-rates.ts';
export { StatsError, type StatsErrorCode } from './errors.ts';
export {
  expositionPortions,
  expositionText,
  type FormattedSample,
  type MetricFamily,
  type MetricSource,
  type Sample,
} from './exposition.ts';
export type { CgroupTree } from './group-reader.ts';
export type { StatsComponents, StatsCri, StatsOptions, VolumeFigures } from './ports.ts';
export type { Wanted } from './shared-collection.ts';
export { StatsProvider } from './stats-provider.ts';
export {
  type ApiTime,
  type ContainerStats,
  type CpuStats,
  type FsStats,
  type InterfaceStats,
  type IoStats,
  type MemoryStats,
  type NetworkStats,
  type NodeStats,
  type NodeSummary,
  type PodReference,
  type PodStats,
  type ProcessStats,
  type PsiData,
  type PsiStats,
  type RlimitStats,
  type RuntimeStats,
  type SwapStats,
  summaryJson,
  summaryPortions,
  type VolumeStats,
} from './summary.ts';
