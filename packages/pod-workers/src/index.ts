export type { PodWorkerActivity, PodWorkerExplanation, PodWorkerHistoryEntry, PodWorkerPhase } from './explanation.ts';
export { PodWorkers, type PodWorkersComponents, type PodWorkersOptions } from './pod-workers.ts';
export type {
  KillPodOptions,
  PodCacheReader,
  PodStatusFn,
  PodSyncer,
  PodUpdateType,
  PodWorkerStep,
  PodWorkerSync,
  UpdatePodOptions,
} from './types.ts';
