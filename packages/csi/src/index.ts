export { csiAccessMode, type PersistentVolumeAccessMode } from './client/access-mode.ts';
export { isFinalCode } from './client/final-codes.ts';
export { CsiNodeClient, type CsiNodeClientComponents, type CsiNodeClientOptions } from './client/node-client.ts';
export type { CsiDriverNodeInfo } from './client/responses.ts';
export { CsiError, type CsiErrorCode, type CsiErrorOptions } from './errors.ts';
export type { CsiNodeApi } from './node-info/csi-node-api.ts';
export { CsiNodeInfo, type CsiNodeInfoComponents, type CsiNodeInfoOptions } from './node-info/csi-node-info.ts';
export type { NodeMetadata, NodeMetadataPatch } from './node-info/node-metadata.ts';
export {
  CsiDriverRegistry,
  type CsiDriverRegistryComponents,
  type CsiDriverRegistryOptions,
} from './registry/driver-registry.ts';
