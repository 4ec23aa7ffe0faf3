import type { Pod, ResourceListJson, Volume } from '@node-agent/pod-spec';

/** A v1 Secret, as far as volumes need it. */
export interface SecretData {
  /** Values in base64, by key. */
  readonly data?: Readonly<Record<string, string>>;
}

/** A v1 ConfigMap, as far as volumes need it. */
export interface ConfigMapData {
  readonly data?: Readonly<Record<string, string>>;
  /** Values in base64, by key. */
  readonly binaryData?: Readonly<Record<string, string>>;
}

/** The secrets and configMaps that pods of this node refer to. `undefined` is one that does not exist. */
export interface ObjectSource {
  getSecret(namespace: string, name: string, signal: AbortSignal): Promise<SecretData | undefined>;
  getConfigMap(namespace: string, name: string, signal: AbortSignal): Promise<ConfigMapData | undefined>;
}

/** What a token is for. */
export interface TokenRequest {
  /** The API server's own where absent. */
  readonly audience?: string;
  /** An hour by the API server's default. */
  readonly expirationSeconds?: number;
}

/** Tokens of pods' service accounts, bound to the pod. Asked at each sync: a token that holds long enough is kept. */
export interface TokenSource {
  getServiceAccountToken(pod: Pod, request: TokenRequest, signal: AbortSignal): Promise<string>;
}

/** A label selector, as a pod has it for trust bundles; `undefined` selects none, an empty one all. */
export type LabelSelector = NonNullable<ClusterTrustBundleSource['labelSelector']>;

export type ClusterTrustBundleSource = NonNullable<
  NonNullable<NonNullable<Volume['projected']>['sources']>[number]['clusterTrustBundle']
>;

/** The anchors of cluster trust bundles (KEP-3257), as PEM text; empty where there are none, and there may be none. */
export interface TrustBundleSource {
  byName(name: string, allowMissing: boolean, signal: AbortSignal): Promise<string>;
  bySigner(
    signerName: string,
    labelSelector: LabelSelector | undefined,
    allowMissing: boolean,
    signal: AbortSignal,
  ): Promise<string>;
}

/** Where the kubelet gets what it fills volumes with. A volume that needs what is absent is refused by name. */
export interface ProjectionSources {
  readonly objects?: ObjectSource;
  readonly tokens?: TokenSource;
  readonly trustBundles?: TrustBundleSource;
  /** What the node has to give to pods: the limit shown of a container that has none. */
  readonly nodeAllocatable: () => ResourceListJson;
}
