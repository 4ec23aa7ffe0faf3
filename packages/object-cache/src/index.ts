export { ClusterTrustBundles, type ClusterTrustBundlesComponents } from './cluster-trust-bundles.ts';
export { ObjectCacheError, type ObjectCacheErrorCode } from './errors.ts';
export type { LabelSelector } from './label-selector.ts';
export { ObjectCache, type ObjectCacheComponents, type ObjectCacheOptions } from './object-cache.ts';
export type { ChangeDetectionStrategy, ConfigMap, ObjectClient, Secret } from './object-store.ts';
export { type ServiceAccountToken, TokenManager, type TokenManagerComponents } from './token-manager.ts';
export { podTokenQuery, type TokenQuery, type TokenRequestSpec } from './token-rules.ts';
export { objectTtlMs } from './version-rules.ts';
