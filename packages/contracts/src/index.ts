export type { AdmitResult, Refusal, RefusalReason } from './admission.ts';
export type {
  CsiAccessMode,
  CsiAccessType,
  CsiDriverClient,
  CsiDrivers,
  CsiExpandRequest,
  CsiFailure,
  CsiNodeCapabilities,
  CsiPublishRequest,
  CsiStageRequest,
  CsiVolumeCapability,
  CsiVolumeStats,
  CsiVolumeUsage,
} from './csi.ts';
export type { PodLifecycleEvent, PodLifecycleEventType } from './pod-lifecycle.ts';
export type { PodOperation, PodUpdate } from './pod-update.ts';
export type {
  KillPodOptions,
  PodStatusFn,
  PodSyncer,
  PodUpdateType,
  PodWorkerSync,
  SyncPodOutcome,
  UpdatePodOptions,
} from './pod-workers.ts';
export type { ProbeKind, ProbeResult, ProbeResults, ProbeUpdate } from './probes.ts';
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
} from './summary.ts';
export type { PodSyncResult, SyncFailure, SyncResult } from './sync-result.ts';
export type { TopologyHint, TopologyHints } from './topology.ts';
