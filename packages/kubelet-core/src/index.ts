export { DEADLINE_EXCEEDED, pastActiveDeadline } from './active-deadline.ts';
export { type PodFeatures, unsupportedFeatureHandler } from './admission.ts';
export type {
  Dependencies,
  KubeletHealth,
  KubeletOptions,
  KubeletReadiness,
  KubeletView,
  RuntimeGate,
  ServerName,
} from './dependencies.ts';
export { KubeletError, type KubeletErrorCode } from './errors.ts';
export type { PodExplanation } from './explain.ts';
export { type Bootstrap, Kubelet } from './kubelet.ts';
export type {
  AdmitHandler,
  AdmitResult,
  BackgroundService,
  ContainerGcPort,
  GeneratePodStatus,
  MirrorPodsPort,
  PlegPort,
  PodCachePort,
  PodConfigPort,
  PodFailure,
  PodLifecycleEvent,
  PodManagerPort,
  PodSyncer,
  PodUpdate,
  PodWorkersPort,
  ProbeUpdate,
  RuntimePort,
  RuntimeReadiness,
  StatusPort,
  VolumesPort,
} from './ports.ts';
export type { RunPodResult } from './run-once.ts';
export { StartupLatency } from './startup-latency.ts';
