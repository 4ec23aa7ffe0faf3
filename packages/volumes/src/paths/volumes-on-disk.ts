import { type DirectoryEntry, type FileSystem, isMissing } from '@node-agent/host';
import { escapePluginName, type PodPaths } from './pod-paths.ts';

/** A directory below a pod's `volumes`. */
export interface VolumeOnDisk {
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

/** Returns the volumes of a pod on disk, whichever process created them. */
export async function volumesOnDisk(
  fs: Pick<FileSystem, 'readdir'>,
  paths: PodPaths,
  uid: string,
): Promise<readonly VolumeOnDisk[]> {
  const found: VolumeOnDisk[] = [];
  for (const plugin of await readDirectory(fs, paths.volumesDir(uid))) {
    const volumes = await readDirectory(fs, `${paths.volumesDir(uid)}/${plugin.name}`);
    found.push(...volumes.map(({ name, kind }) => ({ plugin: plugin.name, name, isDirectory: kind === 'directory' })));
  }
  return found;
}

/** Returns whether a directory on disk belongs to the plugin. */
export function isOfPlugin(volume: VolumeOnDisk, plugin: { readonly name: string }): boolean {
  return volume.plugin === escapePluginName(plugin.name);
}

/** Returns the names of a pod's volumes that have subPath mounts, or may have. */
export async function subPathVolumesOnDisk(
  fs: Pick<FileSystem, 'readdir'>,
  paths: PodPaths,
  uid: string,
): Promise<readonly string[]> {
  return (await readDirectory(fs, paths.subPathsDir(uid))).map(({ name }) => name);
}

/** Returns the entries of a directory; none if it does not exist. */
export async function readDirectory(fs: Pick<FileSystem, 'readdir'>, path: string): Promise<readonly DirectoryEntry[]> {
  try {
    return await fs.readdir(path);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
