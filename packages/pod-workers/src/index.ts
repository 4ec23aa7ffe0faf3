export type { PodWorkersComponents, PodWorkersOptions } from './components.ts';
export { PodWorkersError, type PodWorkersErrorCode } from './errors.ts';
export type { PodWorkerActivity, PodWorkerExplanation, PodWorkerHistoryEntry, PodWorkerPhase } from './explanation.ts';
export { PodWorkers } from './pod-workers.ts';
export type {
  PodStepOutcome,
  PodWork,
  PodWorkerEffect,
  PodWorkerEvent,
  PodWorkerState,
  PodWorkerTransition,
} from './record.ts';
export { nextPodWorkerState } from './state.ts';
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
