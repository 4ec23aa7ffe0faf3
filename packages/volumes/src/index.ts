export type { AtomicWriterComponents } from './atomic-writer.ts';
export type { ClaimData, ClaimSource, PersistentVolumeData } from './claim-source.ts';
export { containerMounts, type SubPathPlace } from './container-mounts.ts';
export { DiskCommand, type DiskCommandComponents } from './disk-command.ts';
export { type EmptyDirComponents, type EmptyDirOptions, EmptyDirPlugin } from './empty-dir.ts';
export { VolumeError, type VolumeErrorCode } from './errors.ts';
export { checkHostPath, type HostPathCheck, type HostPathFiles, HostPathPlugin } from './host-path.ts';
export { ImageVolumePlugin } from './image-volume.ts';
export type { LocalDevices } from './local-staging.ts';
export { type LocalVolumeComponents, type LocalVolumeFiles, LocalVolumePlugin } from './local-volume.ts';
export { MountCommand } from './mount-command.ts';
export type { FsGroup, MountContext } from './mount-context.ts';
export type { Mounter } from './mounter.ts';
export { readNoswapSupport } from './noswap.ts';
export type { MountedVolume, NodeVolumePlugin, VolumePlugin } from './plugin.ts';
export { PodPaths } from './pod-paths.ts';
export { type ProjectionComponents, type ProjectionOptions, projectionPlugins } from './projection-plugin.ts';
export { type NodeVolume, podVolume, type ResolvedVolume, type VolumeSpec } from './resolved-volume.ts';
export type { ScratchComponents } from './scratch-directory.ts';
export { type SharedDirectoryComponents, shareDirectory } from './shared-directory.ts';
export type {
  ClusterTrustBundleSource,
  ConfigMapData,
  LabelSelector,
  ObjectSource,
  ProjectionSources,
  SecretData,
  TokenRequest,
  TokenSource,
  TrustBundleSource,
} from './sources.ts';
export type { MountVariable } from './sub-path.ts';
export type { SubPathForeignFiles } from './sub-path-mounts.ts';
export { VolumeManager, type VolumeManagerComponents, type VolumeManagerOptions } from './volume-manager.ts';
export type { VolumeUsage } from './volume-usage.ts';
