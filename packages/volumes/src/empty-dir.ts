import { dirname, join } from 'node:path';
import { type FileSystem, isMissing } from '@node-agent/host';
import type { Pod, Volume } from '@node-agent/pod-spec';
import { VolumeError } from './errors.ts';
import { memoryVolumeBytes } from './memory-size.ts';
import { type Mounter, mountedType } from './mounter.ts';
import type { MountedVolume, VolumePlugin } from './plugin.ts';
import type { PodPaths } from './pod-paths.ts';

/** What {@link EmptyDirPlugin} works with. */
export interface EmptyDirComponents {
  readonly fs: Pick<
    FileSystem,
    'mkdir' | 'stat' | 'chown' | 'chmod' | 'exists' | 'writeFile' | 'rename' | 'removeAll' | 'realpath'
  >;
  readonly mounter: Mounter;
  readonly paths: PodPaths;
}

export interface EmptyDirOptions {
  /** Memory that pods of this node may use: what a volume in memory is held to where nothing smaller is said. */
  readonly allocatableMemoryBytes: number;
}

/** Set before a volume's name while it is removed: no volume can be called so. */
const REMOVING = 'deleting~';
/** Read, write and enter for the group, which new files inherit (`pkg/volume/volume_linux.go`). */
const GROUP_MODE = 0o2770;

/**
 * `emptyDir` volumes (`pkg/volume/emptydir`): a directory of mode 0777 in the pod's own, on the disk or, with the
 * medium `Memory`, on a tmpfs of its own. It lives as long as the pod, through restarts of its containers and of the
 * kubelet. A directory is moved aside in one step before its content is removed: it is never seen half empty.
 */
export class EmptyDirPlugin implements VolumePlugin {
  readonly name = 'kubernetes.io/empty-dir';
  readonly #components: EmptyDirComponents;
  readonly #options: EmptyDirOptions;

  constructor(components: EmptyDirComponents, options: EmptyDirOptions) {
    this.#components = components;
    this.#options = options;
  }

  canSupport(volume: Volume): boolean {
    return volume.emptyDir !== undefined;
  }

  async setUp(pod: Pod, volume: Volume, signal: AbortSignal): Promise<MountedVolume> {
    const { fs, mounter, paths } = this.#components;
    const { uid } = pod.metadata;
    const medium = volume.emptyDir?.medium ?? '';
    if (medium !== '' && medium !== 'Memory') {
      const message = `volume ${volume.name}: emptyDir medium ${JSON.stringify(medium)} is not supported by this kubelet`;
      throw new VolumeError('UnsupportedVolume', message);
    }
    const directory = paths.volumeDir(uid, this.name, volume.name);
    const ready = this.#readyFile(uid, volume.name);
    const isTmpfs = medium === 'Memory' && (await mountedType(this.#components, directory)) === 'tmpfs';
    if (medium === '' || isTmpfs) {
      if ((await fs.exists(ready)) && (await fs.exists(directory))) return mounted(directory);
    }
    await fs.mkdir(dirname(directory), { mode: 0o750 });
    await fs.mkdir(directory);
    if (medium === 'Memory' && !isTmpfs) {
      const sizeBytes = memoryVolumeBytes(pod, volume, this.#options.allocatableMemoryBytes);
      await mounter.mount('tmpfs', directory, 'tmpfs', sizeBytes > 0 ? [`size=${sizeBytes}`] : [], signal);
    }
    await this.#setOwner(directory, pod.spec.securityContext?.fsGroup);
    await fs.mkdir(dirname(ready), { mode: 0o750 });
    await fs.writeFile(ready, '');
    return mounted(directory);
  }

  async tearDown(podUid: string, directoryName: string, signal: AbortSignal): Promise<void> {
    const { fs, mounter, paths } = this.#components;
    const directory = paths.volumeDir(podUid, this.name, directoryName);
    if (this.isRemoving(directoryName)) return fs.removeAll(directory);
    // First of all it is no longer ready: after a crash from here on it is set up anew, or removed.
    await fs.removeAll(paths.pluginDir(podUid, this.name, directoryName));
    if ((await mountedType(this.#components, directory)) === 'tmpfs') await mounter.unmount(directory, signal);
    const aside = paths.volumeDir(podUid, this.name, `${REMOVING}${directoryName}`);
    // Left by a removal that was cut short; a rename needs its place.
    await fs.removeAll(aside);
    try {
      await fs.rename(directory, aside);
    } catch (error) {
      if (isMissing(error)) return;
      throw error;
    }
    await fs.removeAll(aside);
  }

  isRemoving(directoryName: string): boolean {
    return directoryName.startsWith(REMOVING);
  }

  /** Its parents are 0750, the directory is for everyone, and the pod's group owns it where it has one. */
  async #setOwner(directory: string, fsGroup: number | undefined): Promise<void> {
    const { fs } = this.#components;
    if (fsGroup === undefined) return fs.chmod(directory, 0o777);
    // It is empty as yet: what containers make in it inherits the group, so there is no tree to walk.
    const { uid } = await fs.stat(directory);
    await fs.chown(directory, uid, fsGroup);
    await fs.chmod(directory, 0o777 | GROUP_MODE);
  }

  #readyFile(uid: string, volume: string): string {
    return join(this.#components.paths.pluginDir(uid, this.name, volume), 'ready');
  }
}

function mounted(hostPath: string): MountedVolume {
  return { hostPath, readOnly: false, selinuxRelabel: true };
}
