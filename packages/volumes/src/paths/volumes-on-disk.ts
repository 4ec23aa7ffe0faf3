import { type DirectoryEntry, type FileSystem, isMissing } from '@node-agent/host';
import { escapePluginName, type PodPaths } from './pod-paths.ts';

/** A directory below a pod's `volumes`, or a link below its `volumeDevices`. */
export interface VolumeOnDisk {
  /** Whether the entry is a block volume, which is below `volumeDevices`. */
  readonly isBlock: boolean;
  /** Escaped name of the plugin, for example `kubernetes.io~empty-dir`. */
  readonly plugin: string;
  /** Name of the directory: the volume's name, or the name that its plugin gave it during removal. */
  readonly name: string;
  readonly isDirectory: boolean;
}

/** Returns the UIDs of all pods that have a directory. */
export async function podsOnDisk(fs: Pick<FileSystem, 'readdir'>, paths: PodPaths): Promise<readonly string[]> {
  const entries = await readDirectory(fs, paths.podsDir);
  return entries.filter(({ kind }) => kind === 'directory').map(({ name }) => name);
}

/** Returns the volumes of a pod on disk that this or any other process created. */
export async function volumesOnDisk(
  fs: Pick<FileSystem, 'readdir'>,
  paths: PodPaths,
  uid: string,
): Promise<readonly VolumeOnDisk[]> {
  const found: VolumeOnDisk[] = [];
  for (const isBlock of [false, true]) {
    const directory = isBlock ? paths.volumeDevicesDir(uid) : paths.volumesDir(uid);
    for (const plugin of await readDirectory(fs, directory)) {
      for (const { name, kind } of await readDirectory(fs, `${directory}/${plugin.name}`)) {
        found.push({ plugin: plugin.name, name, isDirectory: kind === 'directory', isBlock });
      }
    }
  }
  return found;
}

/**
 * Returns whether a pod has anything on disk. Asked first, because thousands of finished pods may have nothing: one call
 * then replaces one for each directory that may hold volumes.
 */
export async function isOnDisk(fs: Pick<FileSystem, 'readdir'>, paths: PodPaths, uid: string): Promise<boolean> {
  return (await readDirectory(fs, paths.podDir(uid))).length > 0;
}

/** Returns an identifier of a volume on disk that is unique within its pod. */
export function idOnDisk({ plugin, name, isBlock }: VolumeOnDisk): string {
  return isBlock ? `volumeDevices/${plugin}/${name}` : `${plugin}/${name}`;
}

/** Returns whether a directory on disk belongs to the plugin. */
export function isOfPlugin(
  volume: VolumeOnDisk,
  { name, isBlock = false }: { readonly name: string; readonly isBlock?: boolean },
): boolean {
  return volume.plugin === escapePluginName(name) && volume.isBlock === isBlock;
}

/** Returns the names of a pod's volumes that may have subPath mounts. */
export async function subPathVolumesOnDisk(
  fs: Pick<FileSystem, 'readdir'>,
  paths: PodPaths,
  uid: string,
): Promise<readonly string[]> {
  return (await readDirectory(fs, paths.subPathsDir(uid))).map(({ name }) => name);
}

/** Returns the entries of a directory; an empty list if the directory does not exist. */
export async function readDirectory(fs: Pick<FileSystem, 'readdir'>, path: string): Promise<readonly DirectoryEntry[]> {
  try {
    return await fs.readdir(path);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
