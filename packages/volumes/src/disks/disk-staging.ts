import { basename, dirname, join, relative } from 'node:path';
import { type FileSystem, isMissing, readFileBounded, removeUnfinishedFiles } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';
import { optionsFor } from '../claims/claim-rule.ts';
import type { LocalDevices } from '../claims/local-staging.ts';
import { VolumeError } from '../errors.ts';
import type { NodeVolumePlugin } from '../manager/plugin.ts';
import type { NodeVolume, VolumeSpec } from '../manager/resolved-volume.ts';
import type { UnansweredCalls } from '../manager/unanswered-calls.ts';
import { mountRefs } from '../mount/mount-refs.ts';
import { isMountPoint, type Mounter, realDirectory } from '../mount/mounter.ts';
import type { PodPaths } from '../paths/pod-paths.ts';
import { readDirectory } from '../paths/volumes-on-disk.ts';
import type { DiskSource, NetworkDisks } from './network-disk.ts';

/** Dependencies of {@link DiskStaging}. */
export interface DiskStagingComponents {
  readonly fs: Pick<FileSystem, 'open' | 'mkdir' | 'readdir' | 'remove' | 'removeAll' | 'realpath' | 'writeFileAtomic'>;
  readonly mounter: Pick<Mounter, 'mountPoints' | 'mountsOfSame' | 'unmount'>;
  readonly devices: Pick<LocalDevices, 'formatAndMount'>;
  readonly disks: NetworkDisks;
  readonly paths: Pick<PodPaths, 'pluginDataDir' | 'volumeDir'>;
  readonly calls: UnansweredCalls;
  readonly logger: Logger;
}

/** Directory of block volumes below a plugin's directory. */
const BLOCK_VOLUMES = 'volumeDevices';
const LIMIT_BYTES = 4096;

/**
 * Node level of disks of other machines: a disk is connected, and mounted once for the node, below
 * `<root>/plugins/PLUGIN`. A hidden file beside the mount has the volume's unique name, which the directory's name does
 * not tell exactly.
 */
export class DiskStaging implements NodeVolumePlugin {
  readonly #components: DiskStagingComponents;
  /** Number of directories between the plugin's directory and the mount of a disk. */
  readonly #depth: number;
  /** Files with names that this process has written. */
  readonly #own = new Set<string>();

  constructor(components: DiskStagingComponents, depth: number) {
    this.#components = components;
    this.#depth = depth;
  }

  /** Returns the path at which a disk is mounted for the node. @throws VolumeError `InvalidPath` */
  directoryOf({ directory }: Pick<DiskSource, 'directory'>): string {
    const { paths, disks } = this.#components;
    return paths.pluginDataDir(disks.plugin, ...directory);
  }

  /** Returns the disk of a volume. @throws VolumeError */
  sourceOf(spec: VolumeSpec): DiskSource {
    const { disks } = this.#components;
    const source = disks.source(spec);
    if (source !== undefined) return source;
    throw new VolumeError('InvalidSource', `volume is not of type ${disks.plugin}`);
  }

  async stage({ uniqueName, name, spec, namespace = '' }: NodeVolume, signal: AbortSignal): Promise<void> {
    if (spec === undefined) throw new VolumeError('InvalidSource', `source of volume ${name} is unknown`);
    const { disks, devices, fs, calls } = this.#components;
    const source = this.sourceOf(spec);
    const directory = this.directoryOf(source);
    if (await isMountPoint(this.#components, directory)) return;
    // The name exists before the directory, so that the next process knows every directory.
    await fs.mkdir(dirname(directory), { mode: 0o750 });
    this.#own.add(nameFileOf(directory));
    await fs.writeFileAtomic(nameFileOf(directory), uniqueName, { mode: 0o640 });
    await fs.mkdir(directory, { mode: 0o750 });
    const device = await calls.during(uniqueName, `connection of disk ${source.uniqueName}`, () =>
      disks.connect(spec, namespace, directory, signal),
    );
    const options = optionsFor({ ...spec, readOnly: source.readOnly });
    const mount = (): Promise<void> => devices.formatAndMount(device, directory, source.fsType, options, signal);
    // The directory is kept: it has what is needed to disconnect the disk.
    await calls.during(uniqueName, `mount of ${device}`, mount);
  }

  async unstage({ uniqueName }: NodeVolume, signal: AbortSignal): Promise<void> {
    const { fs, disks, mounter, calls } = this.#components;
    const directory = await this.#find(uniqueName);
    if (directory === undefined) return;
    const refs = await mountRefs(this.#components, directory);
    if (refs.length > 0) throw new VolumeError('StillMounted', `${directory} is still mounted at ${refs.join(', ')}`);
    while (await isMountPoint(this.#components, directory)) await mounter.unmount(directory, signal);
    const names = relative(this.#root, directory).split('/');
    await calls.during(uniqueName, 'disconnection of the disk', () => disks.disconnect(names, directory, signal));
    await fs.removeAll(directory);
    await fs.remove(nameFileOf(directory)).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
    });
  }

  /** Finds the disk by the mount table: the directory's data is hidden by the mounted disk. */
  async reconstruct(podUid: string, directoryName: string): Promise<NodeVolume | undefined> {
    const { fs, mounter, paths, disks } = this.#components;
    const path = await realDirectory(fs, paths.volumeDir(podUid, disks.plugin, directoryName));
    const root = await realDirectory(fs, this.#root);
    if (path === undefined || root === undefined) return undefined;
    for (const point of await mounter.mountsOfSame(path)) {
      if (!point.startsWith(`${root}/`)) continue;
      const uniqueName = await this.#nameOf(point);
      if (uniqueName !== undefined) return { uniqueName, name: directoryName };
      throw new VolumeError('InvalidSource', `${point}: the unique name of the volume is unknown`);
    }
    return undefined;
  }

  async staged(): Promise<readonly NodeVolume[]> {
    const { logger } = this.#components;
    const found: NodeVolume[] = [];
    const paths = await this.#directories();
    for (const parent of await this.#directories(this.#depth - 1)) await this.#removeNames(parent, paths);
    for (const path of paths) {
      const uniqueName = await this.#nameOf(path);
      if (uniqueName !== undefined) found.push({ uniqueName, name: basename(path) });
      else logger.warn({ path }, 'Found a disk whose volume is unknown; it stays connected');
    }
    return found;
  }

  get #root(): string {
    return this.#components.paths.pluginDataDir(this.#components.disks.plugin);
  }

  async #find(uniqueName: string): Promise<string | undefined> {
    for (const path of await this.#directories()) if ((await this.#nameOf(path)) === uniqueName) return path;
    return undefined;
  }

  async #nameOf(directory: string): Promise<string | undefined> {
    const bytes = await readFileBounded(this.#components.fs, nameFileOf(directory), LIMIT_BYTES).catch(() => undefined);
    return bytes && new TextDecoder().decode(bytes);
  }

  /** Removes files with names of directories that do not exist, which a killed process left. */
  async #removeNames(parent: string, directories: readonly string[]): Promise<void> {
    const { fs } = this.#components;
    await removeUnfinishedFiles(fs, parent);
    const known = new Set(directories.map(nameFileOf));
    for (const { name, kind } of await readDirectory(fs, parent)) {
      const path = join(parent, name);
      if (kind === 'file' && name.startsWith('.') && !known.has(path) && !this.#own.has(path)) await fs.remove(path);
    }
  }

  /**
   * Returns the directories in which disks are mounted, or were.
   * @param levels depth of the returned directories below the root of the staging directory
   */
  async #directories(levels: number = this.#depth): Promise<readonly string[]> {
    let level: readonly string[] = [this.#root];
    for (let depth = 0; depth < levels; depth++) level = (await Promise.all(level.map(this.#directoriesIn))).flat();
    return level;
  }

  readonly #directoriesIn = async (path: string): Promise<readonly string[]> => {
    const entries = await readDirectory(this.#components.fs, path);
    const directories = entries.filter(({ name, kind }) => kind === 'directory' && name !== BLOCK_VOLUMES);
    return directories.map(({ name }) => join(path, name));
  };
}

/** Returns the file with the unique name of the volume that is mounted at a path. */
function nameFileOf(directory: string): string {
  return join(dirname(directory), `.${basename(directory)}`);
}
