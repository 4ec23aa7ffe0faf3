export { admitUnderPressure, type PressureVerdict } from './admit.ts';
export type { EvictionDecision, RankedPodView } from './decisions.ts';
export { type DiskPaths, type DiskSpace, diskGauges, type GaugeDisks } from './disk-gauges.ts';
export {
  type DiskLayout,
  type DiskPart,
  diskPartsOf,
  type Reclaim,
  reclaimsOf,
  withContainerFs,
} from './disk-layout.ts';
export { EvictionError, type EvictionErrorCode } from './errors.ts';
export { type EvictionComponents, EvictionManager } from './eviction-manager.ts';
export type { EvictionExplanation, Pressure } from './explanation.ts';
export { cgroupMemoryGauge, type GaugeFiles, nodeMemoryGauge, nodeProcessGauge } from './gauges.ts';
export { type Gauge, type GaugeReadLimits, headroomOf, nextGaugeReadMs, plannedGaugeReadMs } from './headroom.ts';
export { type StorageViolation, storageViolation } from './local-storage.ts';
export { type EvictionMessage, evictionMessage } from './messages.ts';
export { type Observation, type Observations, type Observed, observe } from './observations.ts';
export type { EvictionLimits, EvictionOptions } from './options.ts';
export { parseThresholds, type ThresholdSettings } from './parse-thresholds.ts';
export { type StatsOf, statsByUid } from './pod-usage.ts';
export type {
  EvictionDisks,
  EvictionDiskUsage,
  EvictionKill,
  EvictionPods,
  EvictionReclaim,
  EvictionStats,
} from './ports.ts';
export { NO_PRESSURE, nextPressure, type PressureInput, type PressureState, type PressureStep } from './pressure.ts';
export { type RankedPod, rankPods } from './rank.ts';
export {
  conditionOf,
  isSignal,
  type PressureCondition,
  resourceOf,
  SIGNALS,
  type Signal,
  type StarvedResource,
} from './signals.ts';
export type {
  EvictionContainerStats,
  EvictionNodeStats,
  EvictionPodStats,
  EvictionSummary,
  FsStats,
  MemoryStats,
} from './summary.ts';
export { formatThreshold, isHard, isMet, quantityOf, type Threshold, type ThresholdValue } from './threshold.ts';
