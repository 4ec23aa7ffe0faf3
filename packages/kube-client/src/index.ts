export { ChangeFeed, type ObjectChange, type ObjectChanges } from './change-feed.ts';
export {
  KubeClients,
  type KubeClientsComponents,
  type KubeClientsOptions,
  type RateLimit,
  type UserClients,
} from './clients.ts';
export {
  type ClientNodeCluster,
  type ClientNodeKubeConfig,
  type ClientNodeUser,
  type ClusterConfig,
  type ConnectionConfig,
  connectionOfKubeConfig,
  type ExecConfig,
  type PemSource,
  type UserConfig,
} from './connection-config.ts';
export {
  ConfiguredCredentials,
  type CredentialComponents,
  type CredentialSource,
  type Credentials,
  type TlsMaterial,
} from './credentials.ts';
export { Discovery, type ServerVersion } from './discovery.ts';
export {
  KubeError,
  type KubeErrorCode,
  type KubeErrorOptions,
  type StatusCause,
  type StatusDetails,
  type StatusReason,
} from './errors.ts';
export type { ExecResult, ExecRunner } from './exec-credentials.ts';
export { ifFound } from './if-found.ts';
export type { ImpersonatedUser } from './impersonating-transport.ts';
export { inClusterConfig } from './in-cluster.ts';
export { connectionOf, loadKubeconfig } from './kubeconfig.ts';
export { nodeExec } from './node-exec.ts';
export { NodeTransport, type NodeTransportComponents, type NodeTransportOptions } from './node-transport.ts';
export { PartitionedReflector, type PartitionedReflectorOptions } from './partitioned-reflector.ts';
export type { JsonPatchOperation, Patch } from './patch.ts';
export { type Environment, proxyFor } from './proxy.ts';
export { fieldSelector, type ListOptions, type ResourceVersionMatch, type WatchOptions } from './query.ts';
export type { RateLimiter } from './rate-limiter.ts';
export { Reflector, type ReflectorComponents, type ReflectorOptions } from './reflector.ts';
export type { CredentialFiles } from './reloading-file.ts';
export { apiVersionOf, type KubeObject, type NewObject, type Resource } from './resource.ts';
export { compareResourceVersions } from './resource-version.ts';
export { type Resources, resources } from './resources.ts';
export {
  type DeleteCollectionOptions,
  type DeleteOptions,
  type ObjectKey,
  type ObjectList,
  type PatchOptions,
  RestClient,
  type RestClientComponents,
  type RestClientOptions,
  type WriteOptions,
} from './rest-client.ts';
export { SharedReflector, type SharedReflectorOptions } from './shared-reflector.ts';
export type { HttpRequest, HttpResponse, HttpTransport } from './transport.ts';
export type { WatchEvent } from './watch-events.ts';
export type { WatchedObjects } from './watched-objects.ts';
