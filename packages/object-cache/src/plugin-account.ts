import { createHash } from 'node:crypto';
import type { Pod } from '@node-agent/pod-spec';
import type { ObjectCoordinates } from './docker-config.ts';
import type { TokenAttributes } from './token-attributes.ts';
import type { TokenManager } from './token-manager.ts';

/** The sources of a plugin's tokens. */
export interface AccountSource {
  /** Reads a service account from the API server. @throws KubeError */
  getServiceAccount(
    namespace: string,
    name: string,
    signal: AbortSignal,
  ): Promise<{ readonly metadata: { readonly uid?: string; readonly annotations?: Readonly<Record<string, string>> } }>;
  readonly tokens: Pick<TokenManager, 'get'>;
}

/** The data of a pod's service account that a plugin gets. The token is a secret and must not be logged. */
export interface PluginAccount {
  readonly coordinates: ObjectCoordinates;
  readonly token: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** The cache key of the plugin's response. Contains no secret. */
  readonly cacheKey: string;
  /** Concurrent callers with the same key share one run of the plugin. Contains no secret. */
  readonly runKey: string;
}

/**
 * Returns the account of a pod for a plugin. `none`: the pod has no account, and the plugin does not require one.
 * `skip`: the plugin requires an account, or the account lacks a required annotation.
 * @throws errors of the source; the signal's reason
 */
export async function pluginAccount(
  source: AccountSource,
  attributes: TokenAttributes,
  pod: Pod,
  signal: AbortSignal,
): Promise<PluginAccount | 'none' | 'skip'> {
  const { namespace, name: podName, uid: podUid } = pod.metadata;
  const { serviceAccountName = '' } = pod.spec;
  if (serviceAccountName === '') return attributes.requireServiceAccount ? 'skip' : 'none';
  const { metadata } = await source.getServiceAccount(namespace, serviceAccountName, signal);
  const annotations = chosenAnnotations(metadata.annotations ?? {}, attributes);
  if (annotations === undefined) return 'skip';
  const query = {
    namespace,
    serviceAccountName,
    ...(metadata.uid === undefined ? {} : { serviceAccountUid: metadata.uid }),
    spec: {
      audiences: [attributes.serviceAccountTokenAudience],
      boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: podName, uid: podUid },
    },
  };
  const { token } = await source.tokens.get(query, signal);
  const hash = createHash('sha256').update(token).digest('hex');
  const sorted = Object.entries(annotations).sort(([a], [b]) => (a < b ? -1 : 1));
  const account = [namespace, serviceAccountName, metadata.uid ?? '', sorted];
  const cacheKey = JSON.stringify(attributes.cacheType === 'Token' ? [...account, hash] : account);
  const coordinates = { uid: metadata.uid ?? '', namespace, name: serviceAccountName };
  return { coordinates, token, annotations, cacheKey, runKey: JSON.stringify([hash, sorted]) };
}

function chosenAnnotations(
  all: Readonly<Record<string, string>>,
  { requiredServiceAccountAnnotationKeys: required, optionalServiceAccountAnnotationKeys: optional }: TokenAttributes,
): Readonly<Record<string, string>> | undefined {
  const chosen: Record<string, string> = {};
  for (const key of [...required, ...optional]) {
    const value = Object.hasOwn(all, key) ? all[key] : undefined;
    if (value !== undefined) chosen[key] = value;
    else if (required.includes(key)) return undefined;
  }
  return chosen;
}
