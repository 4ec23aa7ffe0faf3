import { basename, dirname, join } from 'node:path';
import type { Clock } from '@node-agent/async';
import { errorCode, type FileSystem, isMissing, type TreeUsage } from '@node-agent/host';
import { withDefaults } from '@node-agent/telemetry';
import { VolumeError } from '../errors.ts';
import { MountedTypes } from '../mount/mounted-types.ts';
import type { Mounter } from '../mount/mounter.ts';
import { readNoswapSupport } from '../mount/noswap.ts';

/** What `ScratchDirectories` works with. */
export interface ScratchComponents {
  readonly clock?: Pick<Clock, 'monotonic'>;
  readonly fs: Pick<
    FileSystem,
    | 'mkdir'
    | 'stat'
    | 'mountId'
    | 'chown'
    | 'chmod'
    | 'exists'
    | 'readFile'
    | 'writeFile'
    | 'rename'
    | 'removeAll'
    | 'realpath'
    | 'usage'
  >;
  readonly mounter: Mounter;
}

/** Where a directory of a pod is, and where it is remembered that it is ready. */
export interface ScratchPaths {
  readonly directory: string;
  readonly stateDirectory: string;
}

/** On the disk, or on a file system of its own: a tmpfs, or a hugetlbfs of one page size, as `2Mi`. */
export type ScratchMedium =
  | { readonly medium: '' }
  /** Half of the machine's memory where `sizeBytes` is 0. */
  | { readonly medium: 'Memory'; readonly sizeBytes: number }
  | { readonly medium: 'HugePages'; readonly pageSize: string };

export type ScratchSpec = ScratchPaths &
  ScratchMedium & {
    /** The group that owns it; the kubelet's where `undefined`. */
    readonly fsGroup: number | undefined;
  };

const FILE_SYSTEMS: Readonly<Record<ScratchMedium['medium'], string | undefined>> = {
  '': undefined,
  Memory: 'tmpfs',
  HugePages: 'hugetlbfs',
};

/** What such a directory is for everyone, its file system's own mode where it has one. */
const MODES: Readonly<Record<ScratchMedium['medium'], number>> = { '': 0o777, Memory: 0o1777, HugePages: 0o755 };

/** So many mounts on one another are taken away from a directory. */
const MAX_MOUNTS = 16;
/** Set before a volume's name while it is removed: no volume can be called so. */
const REMOVING = 'deleting~';
/** Read, write and enter for the group, which new files inherit (`pkg/volume/volume_linux.go`). */
const GROUP_MODE = 0o2770;

/**
 * Directories for everyone in a pod's own, on the disk or in memory: an `emptyDir`, or what the kubelet fills with files
 * (`pkg/volume/emptydir`). One is moved aside in one step before its content is removed: it is never seen half empty.
 */
export class ScratchDirectories {
  readonly #components: ScratchComponents;
  readonly #mounted: MountedTypes;
  /** Found out when the first of them is in memory. */
  #noswap: Promise<boolean> | undefined;

  constructor(components: ScratchComponents) {
    this.#components = components;
    this.#mounted = new MountedTypes(withDefaults(components));
  }

  /** Makes the directory, or leaves it as it is where it is ready. @returns whether it is new, and nothing was mounted there */
  async make(spec: ScratchSpec, signal: AbortSignal): Promise<boolean> {
    const { fs } = this.#components;
    const { directory, stateDirectory, medium, fsGroup } = spec;
    const ready = join(stateDirectory, 'ready');
    const fileSystem = FILE_SYSTEMS[medium];
    const isMounted = fileSystem !== undefined && (await this.#mounted.at(directory)) === fileSystem;
    if (fileSystem === undefined || isMounted) {
      if ((await fs.exists(ready)) && (await fs.exists(directory))) return false;
    }
    await fs.mkdir(directory, { mode: 0o755 });
    if (!isMounted) await this.#mount(spec, signal);
    await this.#setOwner(directory, fsGroup, MODES[medium]);
    await fs.mkdir(stateDirectory, { mode: 0o750 });
    await fs.writeFile(ready, '');
    return !isMounted;
  }

  async #mount(spec: ScratchSpec, signal: AbortSignal): Promise<void> {
    const { fs, mounter } = this.#components;
    if (spec.medium === 'HugePages') {
      await mounter.mount('nodev', spec.directory, 'hugetlbfs', [`pagesize=${spec.pageSize}`], signal);
    } else if (spec.medium === 'Memory') {
      this.#noswap ??= readNoswapSupport(fs);
      const size = spec.sizeBytes > 0 ? [`size=${spec.sizeBytes}`] : [];
      await mounter.mount(
        'tmpfs',
        spec.directory,
        'tmpfs',
        [...size, ...((await this.#noswap) ? ['noswap'] : [])],
        signal,
      );
    }
  }

  /** Removes the directory with all that is in it, or what an earlier removal left of it; no error where it is not there. */
  async remove({ directory, stateDirectory }: ScratchPaths, signal: AbortSignal): Promise<void> {
    const { fs } = this.#components;
    if (isRemovingName(basename(directory))) return fs.removeAll(directory);
    // First of all it is no longer ready: after a crash from here on it is set up anew, or removed.
    await fs.removeAll(stateDirectory);
    const aside = join(dirname(directory), `${REMOVING}${basename(directory)}`);
    // Left by a removal that was cut short; a rename needs its place.
    await fs.removeAll(aside);
    if (await this.#moveAside(directory, aside, signal)) await fs.removeAll(aside);
    this.#mounted.forget();
  }

  /**
   * Measures the directory, or the file system in memory that is mounted there.
   * @throws VolumeError `Io` where anything else is mounted there: that may never answer (W6)
   */
  async usage(directory: string): Promise<TreeUsage> {
    const type = await this.#mounted.at(directory);
    if (type === undefined || type === 'tmpfs' || type === 'hugetlbfs')
      return await this.#components.fs.usage(directory, { keepsCount: type === 'tmpfs' });
    throw new VolumeError('Io', `${directory} is covered by a mount of type ${type}`);
  }

  /**
   * A mount point cannot be moved, which the kernel says without asking what is mounted: only then the mount table is read. A
   * tmpfs or hugetlbfs is the volume's own, or what a container put on top of it; anything else stays, and is told.
   * @returns `false` where there is no such directory
   */
  async #moveAside(directory: string, aside: string, signal: AbortSignal): Promise<boolean> {
    const { fs, mounter } = this.#components;
    for (let mounts = 0; ; mounts++) {
      try {
        await fs.rename(directory, aside);
        return true;
      } catch (error) {
        if (isMissing(error)) return false;
        if (errorCode(error) !== 'EBUSY' || mounts >= MAX_MOUNTS) throw error;
        this.#mounted.forget();
        const fileSystem = await this.#mounted.at(directory);
        if (fileSystem === undefined || !Object.values(FILE_SYSTEMS).includes(fileSystem)) throw error;
        await mounter.unmount(directory, signal);
      }
    }
  }

  /** Its parents are 0750, the directory is for everyone, and the pod's group owns it where it has one. */
  async #setOwner(directory: string, fsGroup: number | undefined, mode: number): Promise<void> {
    const { fs } = this.#components;
    if (fsGroup === undefined) return fs.chmod(directory, mode);
    // It is empty as yet: what containers make in it inherits the group, so there is no tree to walk.
    const { uid } = await fs.stat(directory);
    await fs.chown(directory, uid, fsGroup);
    await fs.chmod(directory, mode | GROUP_MODE);
  }
}

/** Whether a directory of this name is what a removal left that was cut short. */
export function isRemovingName(directoryName: string): boolean {
  return directoryName.startsWith(REMOVING);
}
