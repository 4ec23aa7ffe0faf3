import { basename, dirname, join } from 'node:path';
import { errorCode, type FileSystem, isMissing } from '@node-agent/host';
import { type Mounter, mountedType } from './mounter.ts';
import { readNoswapSupport } from './noswap.ts';

/** What `ScratchDirectories` works with. */
export interface ScratchComponents {
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
  >;
  readonly mounter: Mounter;
}

/** Where a directory of a pod is, and where it is remembered that it is ready. */
export interface ScratchPaths {
  readonly directory: string;
  readonly stateDirectory: string;
}

export interface ScratchSpec extends ScratchPaths {
  /** On the disk, or on a tmpfs of its own. */
  readonly medium: '' | 'Memory';
  /** The size of the tmpfs, in bytes; half of the machine's memory where 0. */
  readonly sizeBytes: number;
  /** The group that owns it; the kubelet's where `undefined`. */
  readonly fsGroup: number | undefined;
}

/** So many mounts on one another are taken away from a directory. */
const MAX_MOUNTS = 16;
/** Set before a volume's name while it is removed: no volume can be called so. */
const REMOVING = 'deleting~';
/** Read, write and enter for the group, which new files inherit (`pkg/volume/volume_linux.go`). */
const GROUP_MODE = 0o2770;
/** As a tmpfs has it: what one user puts there another can neither remove nor rename. */
const STICKY = 0o1000;

/**
 * Directories for everyone in a pod's own, on the disk or in memory: an `emptyDir`, or what the kubelet fills with files
 * (`pkg/volume/emptydir`). One is moved aside in one step before its content is removed: it is never seen half empty.
 */
export class ScratchDirectories {
  readonly #components: ScratchComponents;
  /** Found out when the first of them is in memory. */
  #noswap: Promise<boolean> | undefined;

  constructor(components: ScratchComponents) {
    this.#components = components;
  }

  /** Makes the directory, or leaves it as it is where it is ready. */
  async make(
    { directory, stateDirectory, medium, sizeBytes, fsGroup }: ScratchSpec,
    signal: AbortSignal,
  ): Promise<void> {
    const { fs, mounter } = this.#components;
    const ready = join(stateDirectory, 'ready');
    const isTmpfs = medium === 'Memory' && (await mountedType(this.#components, directory)) === 'tmpfs';
    if (medium === '' || isTmpfs) {
      if ((await fs.exists(ready)) && (await fs.exists(directory))) return;
    }
    await fs.mkdir(directory, { mode: 0o755 });
    if (medium === 'Memory' && !isTmpfs) {
      this.#noswap ??= readNoswapSupport(fs);
      const options = [...(sizeBytes > 0 ? [`size=${sizeBytes}`] : []), ...((await this.#noswap) ? ['noswap'] : [])];
      await mounter.mount('tmpfs', directory, 'tmpfs', options, signal);
    }
    await this.#setOwner(directory, fsGroup, medium === 'Memory' ? 0o777 | STICKY : 0o777);
    await fs.mkdir(stateDirectory, { mode: 0o750 });
    await fs.writeFile(ready, '');
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
  }

  /**
   * A mount point cannot be moved, which the kernel says without asking what is mounted: only then the mount table is read. A
   * tmpfs is the volume's own, or what a container put on top of it; anything else stays, and is told.
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
        if ((await mountedType(this.#components, directory)) !== 'tmpfs') throw error;
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
