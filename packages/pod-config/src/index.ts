export { ApiSource, type ApiSourceComponents, type PodFeed, type PodFeedChange } from './api-source.ts';
export { comparePods, type DuplicatePod, diffPods, type PodChange, type PodDiff, type PodMarks } from './diff-pods.ts';
export { PodConfigError, type PodConfigErrorCode } from './errors.ts';
export { FileSource, type FileSourceComponents, type FileSourceOptions } from './file-source.ts';
export {
  type Fetch,
  type FetchResponse,
  HttpSource,
  type HttpSourceComponents,
  type HttpSourceOptions,
} from './http-source.ts';
export { LastGoodDirectory, type LastGoodStore } from './last-good-store.ts';
export { type ManifestReading, readManifest } from './manifest.ts';
export type { ReadApart } from './manifest-reader.ts';
export type { JsonValue } from './plain-json.ts';
export {
  type PodChangeEvent,
  PodConfig,
  type PodConfigComponents,
  type PodConfigMode,
  type PodConfigOptions,
  type PodSourceInput,
  type SetPods,
} from './pod-config.ts';
export type { FieldProblem, PodSchema } from './pod-schema.ts';
export type { PodOperation, PodUpdate } from './pod-update.ts';
export { formatProblem, type ManifestProblem } from './problem.ts';
export type { ManifestOrigin } from './static-pod.ts';
