export type { PlegComponents, PlegOptions } from './components.ts';
export { computeEvents } from './compute-events.ts';
export { PlegError, type PlegErrorCode } from './errors.ts';
export { Pleg } from './pleg.ts';
export { PodCache, type PodCacheEntry } from './pod-cache.ts';
export { type PodSnapshot, snapshotOf } from './snapshot.ts';
export type {
  PlegRuntime,
  PlegRuntimeEvent,
  PlegRuntimeEventKind,
  PodLifecycleEvent,
  PodLifecycleEventType,
} from './types.ts';
