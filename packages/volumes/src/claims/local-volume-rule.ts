import type { FileKind } from '@node-agent/host';
import { VolumeError } from '../errors.ts';
import type { NodeVolume, VolumeSpec } from '../manager/resolved-volume.ts';

/** Name of the plugin for local volumes in upstream's kubelet. */
export const LOCAL_VOLUME = 'kubernetes.io/local-volume';

/** Returns the node volume of a local persistent volume with this name. */
export function localNodeVolume(name: string): NodeVolume {
  return { uniqueName: `${LOCAL_VOLUME}/${name}`, name, attachable: false };
}

/** Default file system type of a local volume on a disk (`pkg/volume/local`). */
const DEFAULT_FILE_SYSTEM = 'ext4';

/** Returns the volume's path on this machine. @throws VolumeError `InvalidPath` */
export function localPath({ persistent }: VolumeSpec): string {
  const path = persistent?.spec?.local?.path ?? '';
  if (path === '') throw new VolumeError('InvalidPath', 'local volume source is nil or local path is not set');
  if (path.split('/').includes('..')) {
    throw new VolumeError('InvalidPath', `invalid path: ${path} must not contain '..'`);
  }
  return path.startsWith('/') ? path : `/${path}`;
}

/**
 * Returns whether the path is a disk, which must be mounted first, rather than a directory. @throws VolumeError
 * `TypeCheckFailed`
 */
export function isDisk(path: string, found: FileKind | undefined): boolean {
  if (found === undefined) throw new VolumeError('TypeCheckFailed', `path "${path}" does not exist`);
  if (found === 'directory') return false;
  if (found === 'blockDevice') return true;
  throw new VolumeError('TypeCheckFailed', 'only directory and block device are supported');
}

/** Returns the file system type with which a disk is mounted and, if it has no data, formatted. */
export function fileSystemOf({ persistent }: VolumeSpec): string {
  return persistent?.spec?.local?.fsType || DEFAULT_FILE_SYSTEM;
}
