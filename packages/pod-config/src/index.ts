export { comparePods, type DuplicatePod, diffPods, type PodChange, type PodDiff } from './diff-pods.ts';
export {
  PodConfig,
  type PodConfigComponents,
  type PodConfigMode,
  type PodConfigOptions,
  type SetPods,
} from './pod-config.ts';
export type { PodOperation, PodUpdate } from './pod-update.ts';
export { formatProblem, type ManifestProblem } from './problem.ts';
