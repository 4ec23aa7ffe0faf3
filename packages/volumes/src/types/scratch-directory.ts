import { basename, dirname, join } from 'node:path';
import type { Clock } from '@node-agent/async';
import { errorCode, type FileSystem, isMissing, type TreeUsage } from '@node-agent/host';
import { withDefaults } from '@node-agent/telemetry';
import { VolumeError } from '../errors.ts';
import { MountedTypes } from '../mount/mounted-types.ts';
import type { Mounter } from '../mount/mounter.ts';
import { readNoswapSupport } from '../mount/noswap.ts';

/** Dependencies of `ScratchDirectories`. */
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

/** Path of a pod's directory, and of a state directory whose file `ready` records that the pod's directory is ready. */
export interface ScratchPaths {
  readonly directory: string;
  readonly stateDirectory: string;
}

/** Medium: the disk, a tmpfs, or a hugetlbfs with a page size such as `2Mi`. */
export type ScratchMedium =
  | { readonly medium: '' }
  /** `sizeBytes`: size of the tmpfs. If 0, the kernel's default of half the machine's memory applies. */
  | { readonly medium: 'Memory'; readonly sizeBytes: number }
  | { readonly medium: 'HugePages'; readonly pageSize: string };

export type ScratchSpec = ScratchPaths &
  ScratchMedium & {
    /** Group that owns the directory. If `undefined`, the kubelet's group owns the directory. */
    readonly fsGroup: number | undefined;
  };

const FILE_SYSTEMS: Readonly<Record<ScratchMedium['medium'], string | undefined>> = {
  '': undefined,
  Memory: 'tmpfs',
  HugePages: 'hugetlbfs',
};

/** Mode of the directory, by medium. The modes for tmpfs and hugetlbfs are the defaults of these file systems. */
const MODES: Readonly<Record<ScratchMedium['medium'], number>> = { '': 0o777, Memory: 0o1777, HugePages: 0o755 };

/** Maximum number of stacked mounts that are unmounted. */
const MAX_MOUNTS = 16;
/** Prefix of a volume's directory name during removal; no volume name can begin with it. */
const REMOVING = 'deleting~';
/**
 * Read, write and execute for the group, with setgid, so that new files inherit the group
 * (`pkg/volume/volume_linux.go`).
 */
const GROUP_MODE = 0o2770;

/**
 * Manages world-writable directories of pods, on disk or in memory: an `emptyDir`, or the directory of a projected
 * volume (`pkg/volume/emptydir`). A directory is renamed before its content is removed, so that no reader ever sees it
 * half empty.
 */
export class ScratchDirectories {
  readonly #components: ScratchComponents;
  readonly #mounted: MountedTypes;
  /** Whether tmpfs supports `noswap`; determined when the first volume in memory is mounted. */
  #noswap: Promise<boolean> | undefined;

  constructor(components: ScratchComponents) {
    this.#components = components;
    this.#mounted = new MountedTypes(withDefaults(components));
  }

  /** Creates the directory unless it is ready. @returns whether the directory is new and nothing was mounted there */
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

  /**
   * Removes the directory with its content; if the name is that of an interrupted removal, completes it. Does not fail
   * if the directory does not exist.
   */
  async remove({ directory, stateDirectory }: ScratchPaths, signal: AbortSignal): Promise<void> {
    const { fs } = this.#components;
    if (isRemovingName(basename(directory))) return fs.removeAll(directory);
    // The ready state is removed first, so that after a crash during the removal the volume is set up again or removed.
    await fs.removeAll(stateDirectory);
    const aside = join(dirname(directory), `${REMOVING}${basename(directory)}`);
    // An interrupted removal may have left a directory of this name, to which the rename below moves.
    await fs.removeAll(aside);
    if (await this.#moveAside(directory, aside, signal)) await fs.removeAll(aside);
    this.#mounted.forget();
  }

  /**
   * Measures the directory, or the tmpfs or hugetlbfs that is mounted there.
   * @throws VolumeError `Io` if another file system is mounted there, which may never answer (W6)
   */
  async usage(directory: string): Promise<TreeUsage> {
    const type = await this.#mounted.at(directory);
    if (type === undefined || type === 'tmpfs' || type === 'hugetlbfs')
      return await this.#components.fs.usage(directory, { keepsCount: type === 'tmpfs' });
    throw new VolumeError('Io', `${directory} is covered by a mount of type ${type}`);
  }

  /**
   * Renames the directory. A mount point cannot be renamed; the kernel reports EBUSY without accessing the mounted file
   * system, and only then the mount table is read. A mounted tmpfs or hugetlbfs is unmounted: it belongs to the volume,
   * or a container mounted it over the volume. Any other mount is kept and reported.
   * @returns `false` if the directory does not exist
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

  /**
   * Sets mode and owner: the parent directories have mode 0750, the directory itself is accessible to everyone, and the
   * pod's group owns it if there is one.
   */
  async #setOwner(directory: string, fsGroup: number | undefined, mode: number): Promise<void> {
    const { fs } = this.#components;
    if (fsGroup === undefined) return fs.chmod(directory, mode);
    // The directory is still empty, and files that containers create inherit the group, so no tree must be changed.
    const { uid } = await fs.stat(directory);
    await fs.chown(directory, uid, fsGroup);
    await fs.chmod(directory, mode | GROUP_MODE);
  }
}

/** Returns whether a directory name is that of an interrupted removal. */
export function isRemovingName(directoryName: string): boolean {
  return directoryName.startsWith(REMOVING);
}
