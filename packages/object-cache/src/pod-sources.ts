import { ifFound } from '@node-agent/kube-client';
import type { Pod } from '@node-agent/pod-spec';
import type { ObjectCache } from './object-cache.ts';
import type { ConfigMap, Secret } from './object-store.ts';
import type { TokenManager } from './token-manager.ts';
import { podTokenQuery } from './token-rules.ts';

/** Secrets and config maps for `volumes` and `runtime`. An object that does not exist is `undefined`. */
export interface PodObjects {
  /** @throws ObjectCacheError `NotRegistered`, `NotSynced`; KubeError, but not `NotFound` */
  getSecret(namespace: string, name: string, signal: AbortSignal): Promise<Secret | undefined>;
  /** @throws ObjectCacheError `NotRegistered`, `NotSynced`; KubeError, but not `NotFound` */
  getConfigMap(namespace: string, name: string, signal: AbortSignal): Promise<ConfigMap | undefined>;
}

/** Implements the port `ObjectSource` of `volumes` and `runtime` with a cache. */
export function podObjects(cache: Pick<ObjectCache, 'getSecret' | 'getConfigMap'>): PodObjects {
  return {
    getSecret: (namespace, name, signal) => ifFound(cache.getSecret(namespace, name, signal)),
    getConfigMap: (namespace, name, signal) => ifFound(cache.getConfigMap(namespace, name, signal)),
  };
}

/** Service account tokens for `volumes`. */
export interface PodTokens {
  /** Returns a valid token that is bound to the pod. @throws ObjectCacheError `TokenUnavailable` */
  getServiceAccountToken(
    pod: Pod,
    request: { readonly audience?: string; readonly expirationSeconds?: number },
    signal: AbortSignal,
  ): Promise<string>;
}

/** Implements the port `TokenSource` of `volumes` with a token manager. */
export function podTokens(tokens: Pick<TokenManager, 'get'>): PodTokens {
  return {
    async getServiceAccountToken(pod, request, signal) {
      return (await tokens.get(podTokenQuery(pod, request), signal)).token;
    },
  };
}
