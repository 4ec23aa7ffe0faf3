import { type DirectoryEntry, type FileSystem, isMissing } from '@node-agent/host';
import { escapePluginName, type PodPaths } from './pod-paths.ts';

/** A directory below a pod's `volumes`. */
export interface VolumeOnDisk {
  /** The escaped name of its plugin, as `kubernetes.io~empty-dir`. */
  readonly plugin: string;
  /** The name of the directory: the volume's, or what its plugin called it while it removed it. */
  readonly name: string;
  readonly isDirectory: boolean;
}

/** The UIDs of all pods that have a directory. */
export async function podsOnDisk(fs: Pick<FileSystem, 'readdir'>, paths: PodPaths): Promise<readonly string[]> {
  const entries = await readDirectory(fs, paths.podsDir);
  return entries.filter(({ kind }) => kind === 'directory').map(({ name }) => name);
}

/** What there is of a pod's volumes on the disk, whoever made it. */
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

/** Whether a directory on disk is the plugin's. */
export function isOfPlugin(volume: VolumeOnDisk, plugin: { readonly name: string }): boolean {
  return volume.plugin === escapePluginName(plugin.name);
}

/** The names of a pod's volumes of which parts are mounted, or may be. */
export async function subPathVolumesOnDisk(
  fs: Pick<FileSystem, 'readdir'>,
  paths: PodPaths,
  uid: string,
): Promise<readonly string[]> {
  return (await readDirectory(fs, paths.subPathsDir(uid))).map(({ name }) => name);
}

/** The entries of a directory; none where it is not there. */
export async function readDirectory(fs: Pick<FileSystem, 'readdir'>, path: string): Promise<readonly DirectoryEntry[]> {
  try {
    return await fs.readdir(path);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
