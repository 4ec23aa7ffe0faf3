import { basename } from 'node:path';
import type { FileSystem } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';
import { optionsFor } from '../claims/claim-rule.ts';
import type { LocalDevices } from '../claims/local-staging.ts';
import { VolumeError } from '../errors.ts';
import type { NodeVolumePlugin } from '../manager/plugin.ts';
import type { NodeVolume } from '../manager/resolved-volume.ts';
import type { UnansweredCalls } from '../manager/unanswered-calls.ts';
import { mountRefs } from '../mount/mount-refs.ts';
import { isMountPoint, type Mounter, realDirectory } from '../mount/mounter.ts';
import type { PodPaths } from '../paths/pod-paths.ts';
import { withLabel } from '../selinux/label-rule.ts';
import type { DiskConnections } from './disk-connections.ts';
import { DiskDirectories } from './disk-directories.ts';
import type { DiskSource, NetworkDisks } from './network-disk.ts';

/** Dependencies of {@link DiskStaging}. */
export interface DiskStagingComponents {
  readonly fs: Pick<FileSystem, 'open' | 'mkdir' | 'readdir' | 'remove' | 'removeAll' | 'realpath' | 'writeFileAtomic'>;
  readonly mounter: Pick<Mounter, 'mountPoints' | 'mountsOfSame' | 'unmount'>;
  readonly devices: Pick<LocalDevices, 'formatAndMount'>;
  readonly disks: Pick<NetworkDisks, 'plugin'>;
  readonly connections: DiskConnections;
  readonly paths: Pick<PodPaths, 'pluginDataDir' | 'volumeDir'>;
  readonly calls: UnansweredCalls;
  readonly logger: Logger;
}

/**
 * Stages and unstages disks of other machines: a disk is connected and mounted once for the node, below
 * `<root>/plugins/PLUGIN`.
 */
export class DiskStaging implements NodeVolumePlugin {
  readonly #components: DiskStagingComponents;
  readonly #directories: DiskDirectories;

  /** @param depth number of directories between the plugin's directory and the mount of a disk */
  constructor(components: DiskStagingComponents, depth: number) {
    this.#components = components;
    this.#directories = new DiskDirectories(components, this.#root, depth);
  }

  /** Returns the path at which a disk is mounted for the node. @throws VolumeError `InvalidPath` */
  directoryOf({ directory }: Pick<DiskSource, 'directory'>): string {
    const { paths, disks } = this.#components;
    return paths.pluginDataDir(disks.plugin, ...directory);
  }

  async stage(volume: NodeVolume, signal: AbortSignal): Promise<void> {
    const { uniqueName, name, spec, selinuxLabel } = volume;
    if (spec === undefined) throw new VolumeError('InvalidSource', `source of volume ${name} is unknown`);
    const { connections, devices, calls } = this.#components;
    const source = connections.sourceOf(spec);
    const directory = this.directoryOf(source);
    if (await isMountPoint(this.#components, directory)) return;
    await this.#directories.make(directory, { uniqueName, name, ...(selinuxLabel && { selinuxLabel }) });
    const device = await connections.connect(volume, spec, directory, signal);
    const options = withLabel(optionsFor({ ...spec, readOnly: source.readOnly }), selinuxLabel);
    const mount = (): Promise<void> => devices.formatAndMount(device, directory, source.fsType, options, signal);
    // If the mount fails, the directory is kept, because it contains the data that is needed to disconnect the disk.
    await calls.during(uniqueName, `mount of ${device}`, mount);
  }

  async unstage({ uniqueName }: NodeVolume, signal: AbortSignal): Promise<void> {
    const { connections, mounter } = this.#components;
    const directory = await this.#directories.find((record) => record.uniqueName === uniqueName);
    if (directory === undefined) return;
    const refs = await mountRefs(this.#components, directory);
    if (refs.length > 0) throw new VolumeError('StillMounted', `${directory} is still mounted at ${refs.join(', ')}`);
    while (await isMountPoint(this.#components, directory)) await mounter.unmount(directory, signal);
    await connections.disconnect(uniqueName, this.#directories.namesOf(directory), directory, signal);
    await this.#directories.remove(directory);
  }

  /** Finds the disk by the mount table, because the mounted disk hides the data in its directory. */
  async reconstruct(podUid: string, directoryName: string): Promise<NodeVolume | undefined> {
    const { fs, mounter, paths, disks } = this.#components;
    const path = await realDirectory(fs, paths.volumeDir(podUid, disks.plugin, directoryName));
    const root = await realDirectory(fs, this.#root);
    if (path === undefined || root === undefined) return undefined;
    for (const point of await mounter.mountsOfSame(path)) {
      if (!point.startsWith(`${root}/`)) continue;
      const record = await this.#directories.recordOf(point);
      if (record !== undefined) return { ...record, name: directoryName };
      throw new VolumeError('InvalidSource', `${point}: the unique name of the volume is unknown`);
    }
    return undefined;
  }

  async staged(): Promise<readonly NodeVolume[]> {
    const { logger } = this.#components;
    const found: NodeVolume[] = [];
    await this.#directories.clean();
    for (const path of await this.#directories.all()) {
      const record = await this.#directories.recordOf(path);
      if (record !== undefined) found.push({ ...record, name: basename(path) });
      else logger.warn({ path }, 'Found a disk whose volume is unknown; it stays connected');
    }
    return found;
  }

  get #root(): string {
    return this.#components.paths.pluginDataDir(this.#components.disks.plugin);
  }
}
