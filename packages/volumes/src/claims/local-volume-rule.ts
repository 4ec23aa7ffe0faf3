import type { FileKind } from '@node-agent/host';
import { VolumeError } from '../errors.ts';
import type { NodeVolume, VolumeSpec } from '../manager/resolved-volume.ts';

/** Upstream's name of the plugin. */
export const LOCAL_VOLUME = 'kubernetes.io/local-volume';

/** A local volume as the node's, by the name of its persistent volume. */
export function localNodeVolume(name: string): NodeVolume {
  return { uniqueName: `${LOCAL_VOLUME}/${name}`, name };
}

/** What a local volume is mounted as where it does not say (`pkg/volume/local`). */
const DEFAULT_FILE_SYSTEM = 'ext4';

/** Whether its only access mode is that of one pod alone. */
export function isReadWriteOncePod({ persistent }: VolumeSpec): boolean {
  const modes = persistent?.spec?.accessModes ?? [];
  return modes.length === 1 && modes[0] === 'ReadWriteOncePod';
}

/** Where it is on this machine. @throws VolumeError `InvalidPath` */
export function localPath({ persistent }: VolumeSpec): string {
  const path = persistent?.spec?.local?.path ?? '';
  if (path === '') throw new VolumeError('InvalidPath', 'local volume source is nil or local path is not set');
  if (path.split('/').includes('..')) {
    throw new VolumeError('InvalidPath', `invalid path: ${path} must not contain '..'`);
  }
  return path.startsWith('/') ? path : `/${path}`;
}

/** Whether it is a disk that is to be mounted first, or a directory as it is. @throws VolumeError `TypeCheckFailed` */
export function isDisk(path: string, found: FileKind | undefined): boolean {
  if (found === undefined) throw new VolumeError('TypeCheckFailed', `path "${path}" does not exist`);
  if (found === 'directory') return false;
  if (found === 'blockDevice') return true;
  throw new VolumeError('TypeCheckFailed', 'only directory and block device are supported');
}

/** The file system that a disk is mounted as, and made with where it has none. */
export function fileSystemOf({ persistent }: VolumeSpec): string {
  return persistent?.spec?.local?.fsType || DEFAULT_FILE_SYSTEM;
}
