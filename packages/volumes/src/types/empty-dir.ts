import { checkComponents, checkOptions } from '@node-agent/async';
import type { TreeUsage } from '@node-agent/host';
import type { Pod, Volume } from '@node-agent/pod-spec';
import { VolumeError } from '../errors.ts';
import type { MountedVolume, VolumePlugin } from '../manager/plugin.ts';
import type { ResolvedVolume, VolumeSpec } from '../manager/resolved-volume.ts';
import type { MountContext } from '../mount/mount-context.ts';
import type { PodPaths } from '../paths/pod-paths.ts';
import { hugePageSize, isHugePageMedium } from './huge-pages.ts';
import { memoryVolumeBytes } from './memory-size.ts';
import {
  isRemovingName,
  type ScratchComponents,
  ScratchDirectories,
  type ScratchMedium,
  type ScratchPaths,
} from './scratch-directory.ts';

/** Dependencies of {@link EmptyDirPlugin}. */
export interface EmptyDirComponents extends ScratchComponents {
  readonly paths: PodPaths;
}

export interface EmptyDirOptions {
  /** Memory of this node that pods may use, in bytes; limits volumes in memory that have no smaller limit. */
  readonly allocatableMemoryBytes: number;
}

/**
 * Plugin for `emptyDir` volumes (`pkg/volume/emptydir`): a directory of mode 0777 in the pod's directory, on disk or,
 * with medium `Memory`, on its own tmpfs, or with `HugePages` on a hugetlbfs. The volume lives as long as the pod; it
 * survives restarts of containers and of the kubelet.
 */
export class EmptyDirPlugin implements VolumePlugin {
  readonly name = 'kubernetes.io/empty-dir';
  readonly #components: EmptyDirComponents;
  readonly #directories: ScratchDirectories;
  readonly #options: EmptyDirOptions;

  /** @throws OptionsError naming the invalid component or option */
  constructor(components: EmptyDirComponents, options: EmptyDirOptions) {
    checkOptions('EmptyDirPlugin', options, { allocatableMemoryBytes: 'notNegative' });
    checkComponents('EmptyDirPlugin', components, {
      paths: [
        'stagedDir',
        'stagedVolumeDir',
        'podDir',
        'volumesDir',
        'pluginsDir',
        'subPathsDir',
        'subPathDir',
        'volumeDir',
        'pluginDir',
      ],
      fs: [
        'mkdir',
        'readFile',
        'rename',
        'writeFile',
        'exists',
        'stat',
        'removeAll',
        'chmod',
        'realpath',
        'usage',
        'mountId',
        'chown',
      ],
      mounter: ['mountPoints', 'mount', 'bind', 'rebind', 'unmount'],
    });
    this.#components = components;
    this.#directories = new ScratchDirectories(components);
    this.#options = options;
  }

  canSupport({ volume }: VolumeSpec): boolean {
    return volume.emptyDir !== undefined;
  }

  async setUp(
    pod: Pod,
    { volume }: ResolvedVolume,
    { fsGroup }: MountContext,
    signal: AbortSignal,
  ): Promise<MountedVolume> {
    const paths = this.#pathsOf(pod.metadata.uid, volume.name);
    const medium = this.#medium(pod, volume);
    await this.#directories.make({ ...paths, ...medium, fsGroup: fsGroup?.gid }, signal);
    return { hostPath: paths.directory, readOnly: false, selinuxRelabel: true };
  }

  tearDown(podUid: string, directoryName: string, signal: AbortSignal): Promise<void> {
    return this.#directories.remove(this.#pathsOf(podUid, directoryName), signal);
  }

  usage({ hostPath }: MountedVolume): Promise<TreeUsage> {
    return this.#directories.usage(hostPath);
  }

  isRemoving(directoryName: string): boolean {
    return isRemovingName(directoryName);
  }

  #medium(pod: Pod, volume: Volume): ScratchMedium {
    const medium = volume.emptyDir?.medium ?? '';
    if (medium === '') return { medium };
    if (medium === 'Memory') {
      return { medium, sizeBytes: memoryVolumeBytes(pod, volume, this.#options.allocatableMemoryBytes) };
    }
    if (isHugePageMedium(medium)) return { medium: 'HugePages', pageSize: hugePageSize(medium, pod) };
    throw new VolumeError('UnsupportedVolume', `unknown storage medium ${JSON.stringify(medium)}`);
  }

  #pathsOf(uid: string, name: string): ScratchPaths {
    const { paths } = this.#components;
    return {
      directory: paths.volumeDir(uid, this.name, name),
      stateDirectory: paths.pluginDir(uid, this.name, name),
    };
  }
}
