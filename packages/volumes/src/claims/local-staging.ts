import { dirname, join, relative } from 'node:path';
import { type FileKind, type FileSystem, type ForeignFiles, isMissing } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';
import { VolumeError } from '../errors.ts';
import type { NodeVolumePlugin } from '../manager/plugin.ts';
import type { NodeVolume, ResolvedVolume, VolumeSpec } from '../manager/resolved-volume.ts';
import { mountAt } from '../mount/mount-at.ts';
import { isMountPoint, type Mounter, realDirectory } from '../mount/mounter.ts';
import { takeAway } from '../mount/take-away.ts';
import type { PodPaths } from '../paths/pod-paths.ts';
import { readDirectory } from '../paths/volumes-on-disk.ts';
import { optionsFor } from './claim-rule.ts';
import { fileSystemOf, isDisk, LOCAL_VOLUME, localNodeVolume, localPath } from './local-volume-rule.ts';

/** Port to the disks of this machine. */
export interface LocalDevices {
  /**
   * Mounts a disk. A disk without any data is formatted first; a disk with a file system is checked first. With the
   * option `ro`, nothing is written to the disk. @param fsType file system type; '' means the type that the disk has,
   * or ext4 for an empty disk. @throws VolumeError `MountFailed`, `FileSystemMismatch`
   */
  formatAndMount(
    device: string,
    target: string,
    fsType: string,
    options: readonly string[],
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * Grows the file system of a mounted disk to the disk's size; a disk without a file system is left unchanged. If
   * absent, disks are not grown. @throws VolumeError `MountFailed`
   */
  grow?(device: string, target: string, signal: AbortSignal): Promise<void>;
}

/** Dependencies of {@link LocalStaging}. */
export interface LocalStagingComponents {
  readonly fs: Pick<FileSystem, 'mkdir' | 'readdir' | 'remove' | 'realpath'>;
  readonly foreignFiles: Pick<ForeignFiles, 'stat'>;
  readonly mounter: Mounter;
  readonly devices: LocalDevices;
  readonly paths: PodPaths;
  readonly logger: Logger;
}

/**
 * Stages and unstages local volumes (`deviceMounter` of `pkg/volume/local`): a disk is mounted once for the node, below
 * `<root>/plugins/kubernetes.io/local-volume/mounts`. A directory needs no staging.
 */
export class LocalStaging implements NodeVolumePlugin {
  readonly #components: LocalStagingComponents;

  constructor(components: LocalStagingComponents) {
    this.#components = components;
  }

  async stage({ name, spec }: NodeVolume, signal: AbortSignal): Promise<void> {
    if (spec === undefined) throw new VolumeError('InvalidSource', `source of volume ${name} is unknown`);
    const device = localPath(spec);
    if (!isDisk(device, await this.#kindOf(device, signal))) return;
    const { devices } = this.#components;
    const directory = this.#directoryOf(name);
    if (await isMountPoint(this.#components, directory)) return;
    const fsType = fileSystemOf(spec);
    const mount = (): Promise<void> =>
      devices.formatAndMount(device, directory, fsType, optionsFor(spec), signal).catch((error: unknown) => {
        const { code, message } = VolumeError.from(error);
        const what = `local: failed to mount device ${device} at ${directory} (fstype: ${fsType})`;
        throw new VolumeError(code, `${what}, error ${message}`, error);
      });
    await mountAt(this.#components, directory, mount, signal);
  }

  /** Grows the file system of a disk; does nothing for a directory (`NodeExpand` of `pkg/volume/local`). */
  async grow(spec: VolumeSpec, mounted: string, signal: AbortSignal): Promise<void> {
    const device = localPath(spec);
    if (isDisk(device, await this.#kindOf(device, signal))) {
      await this.#components.devices.grow?.(device, mounted, signal);
    }
  }

  async unstage({ name }: NodeVolume, signal: AbortSignal): Promise<void> {
    const directory = this.#directoryOf(name);
    if (await isMountPoint(this.#components, directory)) {
      // The mount table is checked, because pods that this kubelet does not know may use the volume: a pod's directory
      // may have been unreadable when the kubelet started.
      const inPods = await this.#mountedInPods(name);
      if (inPods.length > 0) {
        throw new VolumeError('StillMounted', `local: ${directory} is still mounted at ${inPods.join(', ')}`);
      }
    }
    await takeAway(this.#components, directory, signal);
  }

  async reconstruct(_podUid: string, directoryName: string): Promise<NodeVolume> {
    return localNodeVolume(directoryName);
  }

  async staged(): Promise<readonly NodeVolume[]> {
    const { fs, paths } = this.#components;
    return (await readDirectory(fs, paths.stagedDir(LOCAL_VOLUME))).map(({ name }) => localNodeVolume(name));
  }

  /**
   * Returns the path to bind into pods: the directory itself, or the directory at which the disk is mounted. @throws
   * VolumeError or a system error
   */
  async sourceOf(volume: ResolvedVolume, signal: AbortSignal): Promise<string> {
    const path = localPath(volume);
    if (!isDisk(path, await this.#kindOf(path, signal))) return path;
    const directory = this.#directoryOf(volume.directoryName);
    if (await isMountPoint(this.#components, directory)) return directory;
    throw new VolumeError('MountFailed', `${path} is not mounted at ${directory} any more`);
  }

  #directoryOf(name: string): string {
    return this.#components.paths.stagedVolumeDir(LOCAL_VOLUME, name);
  }

  /**
   * Returns the paths in pods' directories at which the volume is mounted, by any process (upstream:
   * `GetDeviceMountRefs`).
   */
  async #mountedInPods(name: string): Promise<readonly string[]> {
    const { fs, mounter, paths } = this.#components;
    const someone = await realDirectory(fs, paths.podDir('uid'));
    if (someone === undefined) return [];
    const podsDir = dirname(someone);
    const inPod = relative(paths.podDir('uid'), paths.volumeDir('uid', LOCAL_VOLUME, name));
    const points = [...(await mounter.mountPoints()).keys()];
    return points.filter((point) => {
      const [uid = ''] = relative(podsDir, point).split('/');
      return point === join(podsDir, uid, inPod);
    });
  }

  /** Returns the kind of the file at a path, with links followed, because most local volumes name a disk by a link. */
  async #kindOf(path: string, signal: AbortSignal): Promise<FileKind | undefined> {
    try {
      return (await this.#components.foreignFiles.stat(path, signal)).kind;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw VolumeError.from(error);
    }
  }
}
