import type { Pod, ResourceListJson, Volume } from '@node-agent/pod-spec';

/** The part of a v1 Secret that volumes need. */
export interface SecretData {
  /** Values in base64, by key. */
  readonly data?: Readonly<Record<string, string>>;
  readonly type?: string;
}

/** Reads a secret; `undefined` if it does not exist. */
export type VolumeSecrets = (namespace: string, name: string, signal: AbortSignal) => Promise<SecretData | undefined>;

/** The part of a v1 ConfigMap that volumes need. */
export interface ConfigMapData {
  readonly data?: Readonly<Record<string, string>>;
  /** Values in base64, by key. */
  readonly binaryData?: Readonly<Record<string, string>>;
}

/**
 * Source of the secrets and configMaps that pods of this node refer to. The methods resolve to `undefined` if the
 * object does not exist.
 */
export interface ObjectSource {
  getSecret(namespace: string, name: string, signal: AbortSignal): Promise<SecretData | undefined>;
  getConfigMap(namespace: string, name: string, signal: AbortSignal): Promise<ConfigMapData | undefined>;
}

/** Parameters of a token request. */
export interface TokenRequest {
  /** Audience of the token. Default: the API server's audience. */
  readonly audience?: string;
  /** Validity of the token, in seconds. Default: one hour, as set by the API server. */
  readonly expirationSeconds?: number;
}

/**
 * Source of service account tokens that are bound to the pod. The source is called at each sync, so it must cache
 * tokens that are valid long enough.
 */
export interface TokenSource {
  getServiceAccountToken(pod: Pod, request: TokenRequest, signal: AbortSignal): Promise<string>;
}

/** Label selector for cluster trust bundles. `undefined` selects none, an empty selector selects all. */
export type LabelSelector = NonNullable<ClusterTrustBundleSource['labelSelector']>;

export type ClusterTrustBundleSource = NonNullable<
  NonNullable<NonNullable<Volume['projected']>['sources']>[number]['clusterTrustBundle']
>;

/**
 * Source of the trust anchors of cluster trust bundles (KEP-3257), as PEM text; empty if there are none and
 * `allowMissing` is set.
 */
export interface TrustBundleSource {
  byName(name: string, allowMissing: boolean, signal: AbortSignal): Promise<string>;
  bySigner(
    signerName: string,
    labelSelector: LabelSelector | undefined,
    allowMissing: boolean,
    signal: AbortSignal,
  ): Promise<string>;
}

/**
 * Sources of the files that the kubelet writes to volumes. A volume that needs an absent source is refused with a
 * message that names the source.
 */
export interface ProjectionSources {
  readonly objects?: ObjectSource;
  readonly tokens?: TokenSource;
  readonly trustBundles?: TrustBundleSource;
  /** Returns the node's allocatable resources, which are shown as the limit of a container that has none. */
  readonly nodeAllocatable: () => ResourceListJson;
}
