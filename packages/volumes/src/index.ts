export { containerMounts, unsupportedMounts } from './container-mounts.ts';
export { type EmptyDirComponents, type EmptyDirOptions, EmptyDirPlugin } from './empty-dir.ts';
export { VolumeError, type VolumeErrorCode } from './errors.ts';
export { checkHostPath, type HostPathCheck, HostPathPlugin } from './host-path.ts';
export { MountCommand } from './mount-command.ts';
export type { Mounter } from './mounter.ts';
export { type MountedVolume, type VolumePlugin, volumeType } from './plugin.ts';
export { PodPaths } from './pod-paths.ts';
export { VolumeManager, type VolumeManagerComponents, type VolumeManagerOptions } from './volume-manager.ts';
