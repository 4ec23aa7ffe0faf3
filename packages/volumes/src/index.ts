export type { BlockMapperComponents } from './block/block-mapper.ts';
export { LoopCommand, type LoopCommandComponents, type LoopDevices } from './block/loop-devices.ts';
export type { ClaimData, ClaimSource, PersistentVolumeData } from './claims/claim-source.ts';
export { type LocalBlockComponents, LocalBlockPlugin } from './claims/local-block-plugin.ts';
export type { LocalDevices } from './claims/local-staging.ts';
export { type LocalVolumeComponents, type LocalVolumeFiles, LocalVolumePlugin } from './claims/local-volume.ts';
export type { CsiDriverData, CsiObjects, CsiTokenRequest, CsiTokens, VolumeAttachmentData } from './csi/csi-objects.ts';
export { CsiPlugin, type CsiPluginComponents, type CsiPluginOptions } from './csi/csi-plugin.ts';
export { DiskToolCommand, type DiskTools } from './disks/disk-tools.ts';
export { type NetworkDiskComponents, networkDiskPlugins } from './disks/network-disk-plugins.ts';
export { type OperationEffect, VolumeError, type VolumeErrorCode } from './errors.ts';
export type { DriverResult } from './flexvolume/driver-status.ts';
export type { FlexPrograms } from './flexvolume/flex-driver.ts';
export { type FlexVolumeComponents, type FlexVolumeOptions, FlexVolumePlugins } from './flexvolume/flex-plugins.ts';
export { FlexVolumeCommand } from './flexvolume/flex-programs.ts';
export { containerDevices, containerMounts, type SubPathPlace } from './manager/container-mounts.ts';
export type {
  MountedVolume,
  NodeVolumePlugin,
  SetUpState,
  UnansweredCall,
  VolumeMeasurement,
  VolumePlugin,
} from './manager/plugin.ts';
export type { PluginSource } from './manager/plugin-set.ts';
export { type NodeVolume, podVolume, type ResolvedVolume, type VolumeSpec } from './manager/resolved-volume.ts';
export type { AttachedVolumes } from './manager/volume-attachments.ts';
export { VolumeManager } from './manager/volume-manager.ts';
export type { VolumeManagerComponents, VolumeManagerOptions } from './manager/volume-manager-components.ts';
export type { VolumeUsage } from './manager/volume-usage.ts';
export type { VolumeWait } from './manager/volume-waits.ts';
export type { CommandResult, CommandShellOptions } from './mount/command-shell.ts';
export { DiskCommand, type DiskCommandComponents } from './mount/disk-command.ts';
export { MountCommand } from './mount/mount-command.ts';
export type { FsGroup, MountContext } from './mount/mount-context.ts';
export type { Mounter } from './mount/mounter.ts';
export { readNoswapSupport } from './mount/noswap.ts';
export { type SharedDirectoryComponents, shareDirectory } from './mount/shared-directory.ts';
export { type NfsComponents, NfsPlugin } from './network/nfs-plugin.ts';
export { PodPaths } from './paths/pod-paths.ts';
export type { MountVariable } from './paths/sub-path.ts';
export type { SubPathForeignFiles } from './paths/sub-path-mounts.ts';
export type { AtomicWriterComponents } from './projected/atomic-writer.ts';
export { type ProjectionComponents, type ProjectionOptions, projectionPlugins } from './projected/projection-plugin.ts';
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
  VolumeSecrets,
} from './projected/sources.ts';
export type { SelinuxSettings } from './selinux/selinux-labels.ts';
export { type EmptyDirComponents, type EmptyDirOptions, EmptyDirPlugin } from './types/empty-dir.ts';
export { checkHostPath, type HostPathCheck, type HostPathFiles, HostPathPlugin } from './types/host-path.ts';
export { ImageVolumePlugin } from './types/image-volume.ts';
export type { ScratchComponents } from './types/scratch-directory.ts';
