import { ifFound } from '@node-agent/kube-client';
import type { Pod } from '@node-agent/pod-spec';
import type { ObjectCache } from './object-cache.ts';
import type { ConfigMap, Secret } from './object-store.ts';
import type { TokenManager } from './token-manager.ts';
import { podTokenQuery } from './token-rules.ts';

/** Secrets and config maps as `volumes` and `runtime` ask for them: one that does not exist is `undefined`. */
export interface PodObjects {
  /** @throws ObjectCacheError `NotRegistered`, `NotSynced`; KubeError, but not `NotFound` */
  getSecret(namespace: string, name: string, signal: AbortSignal): Promise<Secret | undefined>;
  /** @throws ObjectCacheError `NotRegistered`, `NotSynced`; KubeError, but not `NotFound` */
  getConfigMap(namespace: string, name: string, signal: AbortSignal): Promise<ConfigMap | undefined>;
}

/** The port `ObjectSource` of `volumes` and of `runtime`, filled by a cache. */
export function podObjects(cache: Pick<ObjectCache, 'getSecret' | 'getConfigMap'>): PodObjects {
  return {
    getSecret: (namespace, name, signal) => ifFound(cache.getSecret(namespace, name, signal)),
    getConfigMap: (namespace, name, signal) => ifFound(cache.getConfigMap(namespace, name, signal)),
  };
}

/** Tokens of service accounts as `volumes` asks for them. */
export interface PodTokens {
  /** A token bound to the pod that holds still. @throws ObjectCacheError `TokenUnavailable` */
  getServiceAccountToken(
    pod: Pod,
    request: { readonly audience?: string; readonly expirationSeconds?: number },
    signal: AbortSignal,
  ): Promise<string>;
}

/** The port `TokenSource` of `volumes`, filled by a token manager. */
export function podTokens(tokens: Pick<TokenManager, 'get'>): PodTokens {
  return {
    async getServiceAccountToken(pod, request, signal) {
      return (await tokens.get(podTokenQuery(pod, request), signal)).token;
    },
  };
}
