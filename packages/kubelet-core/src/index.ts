export type {
  KillPodOptions,
  PodLifecycleEvent,
  PodStatusFn,
  PodSyncer,
  PodSyncResult,
  PodUpdate,
  PodUpdateType,
  PodWorkerSync,
  ProbeUpdate,
  SyncResult,
  UpdatePodOptions,
} from '@node-agent/contracts';
export type { AdmitHandler, AdmitResult, Refusal } from './admit/admit-handler.ts';
export { type AllocationPort, noAllocation } from './admit/allocation.ts';
export { type PodFeatures, unsupportedFeatureHandler } from './admit/unsupported-features.ts';
export type { Bootstrap } from './bootstrap.ts';
export type {
  Dependencies,
  GivenDependencies,
  KubeletHealth,
  KubeletOptions,
  KubeletReadiness,
  KubeletView,
  RuntimeGate,
  ServerName,
} from './dependencies.ts';
export { KubeletError, type KubeletErrorCode } from './errors.ts';
export type { PodExplanation } from './explain/explain.ts';
export { explainNode, type NodeExplanation } from './explain/explain-node.ts';
export { nodeExplanationText, podExplanationText, type RecordedEvent } from './explain/explanation-text.ts';
export {
  type EndStep,
  PodJournal,
  type PodJournalPort,
  type PodStep,
  type PodStepName,
  type StepDetail,
} from './explain/pod-journal.ts';
export { noteConditions, type PlannedStep } from './explain/pod-steps.ts';
export type { PodWait } from './explain/pod-waits.ts';
export { Kubelet } from './kubelet.ts';
export type { RunPodResult } from './node/run-once.ts';
export { DEADLINE_EXCEEDED, pastActiveDeadline } from './pods/active-deadline.ts';
export { StartupLatency } from './pods/startup-latency.ts';
export type {
  BackgroundService,
  ContainerGcPort,
  EvictionPort,
  GeneratePodStatus,
  ImageGcPort,
  MirrorPodsPort,
  PlegPort,
  PodCachePort,
  PodCgroupsPort,
  PodClaimsPort,
  PodConfigPort,
  PodFailure,
  PodManagerPort,
  PodWorkersPort,
  PodWorkerView,
  ProbesPort,
  RuntimeCondition,
  RuntimePort,
  RuntimeReadiness,
  StatusPort,
  UserNamespacesPort,
  VolumesPort,
  VolumeWaitView,
} from './ports.ts';
