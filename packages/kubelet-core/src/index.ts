export { DEADLINE_EXCEEDED, pastActiveDeadline } from './active-deadline.ts';
export type { AdmitHandler, AdmitResult, Refusal } from './admit-handler.ts';
export { type AllocationPort, noAllocation } from './allocation.ts';
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
export type { PodExplanation } from './explain.ts';
export { explainNode, type NodeExplanation } from './explain-node.ts';
export { nodeExplanationText, podExplanationText, type ToldEvent } from './explanation-text.ts';
export { Kubelet } from './kubelet.ts';
export {
  type EndStep,
  PodJournal,
  type PodJournalPort,
  type PodStep,
  type PodStepName,
  type StepDetail,
} from './pod-journal.ts';
export { noteConditions, type PlannedStep } from './pod-steps.ts';
export type { PodWait } from './pod-waits.ts';
export type {
  BackgroundService,
  ContainerGcPort,
  EvictionPort,
  GeneratePodStatus,
  ImageGcPort,
  KillPodOptions,
  MirrorPodsPort,
  PlegPort,
  PodCachePort,
  PodCgroupsPort,
  PodConfigPort,
  PodFailure,
  PodLifecycleEvent,
  PodManagerPort,
  PodStatusFunction,
  PodSyncer,
  PodSyncResult,
  PodUpdate,
  PodWorkerSync,
  PodWorkersPort,
  PodWorkerView,
  ProbesPort,
  ProbeUpdate,
  RuntimeCondition,
  RuntimePort,
  RuntimeReadiness,
  StatusPort,
  SyncResult,
  UpdatePodOptions,
  UpdateType,
  UserNamespacesPort,
  VolumesPort,
} from './ports.ts';
export type { RunPodResult } from './run-once.ts';
export { StartupLatency } from './startup-latency.ts';
export { type PodFeatures, unsupportedFeatureHandler } from './unsupported-features.ts';
