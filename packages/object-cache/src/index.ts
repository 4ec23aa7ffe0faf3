export { ObjectCacheError, type ObjectCacheErrorCode } from './errors.ts';
export { ObjectCache, type ObjectCacheComponents, type ObjectCacheOptions } from './object-cache.ts';
export type { ChangeDetectionStrategy, ConfigMap, ObjectClient, Secret } from './object-store.ts';
export { objectTtlMs } from './version-rules.ts';
