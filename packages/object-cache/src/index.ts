export { ClusterTrustBundles, type ClusterTrustBundlesComponents } from './cluster-trust-bundles.ts';
export type { CredentialProvider } from './credential-provider-config.ts';
export type { PluginComponents } from './credential-provider-plugin.ts';
export { CredentialProviders, type CredentialProvidersComponents } from './credential-providers.ts';
export type { LoginSource, ObjectCoordinates, RegistryLogin } from './docker-config.ts';
export { ObjectCacheError, type ObjectCacheErrorCode } from './errors.ts';
export type { LabelSelector } from './label-selector.ts';
export {
  allCredentials,
  NodeDockerConfig,
  type NodeDockerConfigComponents,
  type NodeDockerConfigOptions,
} from './node-docker-config.ts';
export { ObjectCache, type ObjectCacheComponents, type ObjectCacheOptions } from './object-cache.ts';
export type { ChangeDetectionStrategy, ConfigMap, ObjectClient, Secret } from './object-store.ts';
export type { AccountSource } from './plugin-account.ts';
export { nodePluginRunner, type PluginResult, type PluginRun, type PluginRunner } from './plugin-runner.ts';
export { type PodObjects, type PodTokens, podObjects, podTokens } from './pod-sources.ts';
export { type NodeCredentials, PullSecrets, type PullSecretsComponents } from './pull-secrets.ts';
export { type CredentialProvidersConfig, readCredentialProviders } from './read-credential-providers.ts';
export type { TokenAttributes } from './token-attributes.ts';
export { type ServiceAccountToken, TokenManager, type TokenManagerComponents } from './token-manager.ts';
export { podTokenQuery, type TokenQuery, type TokenRequestSpec } from './token-rules.ts';
export { objectTtlMs } from './version-rules.ts';
