export { Pleg, type PlegComponents, type PlegOptions } from './pleg.ts';
export { PodCache, type PodCacheEntry } from './pod-cache.ts';
export type {
  PlegRuntime,
  PlegRuntimeEvent,
  PodLifecycleEvent,
  PodLifecycleEventType,
} from './types.ts';
