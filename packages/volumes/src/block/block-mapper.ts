import { dirname, join } from 'node:path';
import { type FileKind, type FileSystem, isMissing } from '@node-agent/host';
import { VolumeError } from '../errors.ts';
import type { Mounter } from '../mount/mounter.ts';
import { readDirectory } from '../paths/volumes-on-disk.ts';
import type { LoopDevices } from './loop-devices.ts';

/** Dependencies of `BlockMapper`. */
export interface BlockMapperComponents {
  readonly fs: Pick<
    FileSystem,
    'mkdir' | 'readdir' | 'lstat' | 'remove' | 'realpath' | 'symlink' | 'readlink' | 'writeFile'
  >;
  readonly mounter: Pick<Mounter, 'bind' | 'unmount'>;
  readonly loops: LoopDevices;
}

/** Paths at which a pod's block device is mapped. */
export interface BlockMap {
  /** Directory for the node, with one bind mount of the device per pod UID. */
  readonly mapDir: string;
  readonly podUid: string;
  /** Symbolic link to the device in the pod's directory. */
  readonly podLink: string;
}

/**
 * Maps block devices for pods (`MapBlockVolume`, `UnmapBlockVolume` of `pkg/volume/util`): a bind mount for the node, a
 * symbolic link for the pod, and a loop device that keeps the device open. Every step can be repeated, also by the next
 * kubelet process after a crash.
 */
export class BlockMapper {
  readonly #components: BlockMapperComponents;

  constructor(components: BlockMapperComponents) {
    this.#components = components;
  }

  /**
   * Records the volume in the pod's directory, before anything is set up for the pod: the next process finds the volume
   * by this link. @param target path of the device, which need not exist yet
   */
  async link({ podLink }: Pick<BlockMap, 'podLink'>, target: string): Promise<void> {
    const { fs } = this.#components;
    await fs.mkdir(dirname(podLink), { mode: 0o750 });
    // A link from before a reboot may name another device.
    if ((await this.#kindOf(podLink)) === 'symlink' && (await fs.readlink(podLink)) === target) return;
    await this.#remove(podLink);
    await fs.symlink(target, podLink);
  }

  /** Removes the pod's link, after everything else of the volume was removed for the pod. */
  async unlink({ podLink }: Pick<BlockMap, 'podLink'>): Promise<void> {
    await this.#remove(podLink);
  }

  /**
   * Maps a device for a pod and attaches a loop device to it. @param device path of the device; links are followed.
   * @throws VolumeError or a system error
   */
  async map(device: string, at: BlockMap, signal: AbortSignal): Promise<void> {
    const { fs, mounter, loops } = this.#components;
    const real = await fs.realpath(device);
    const place = join(at.mapDir, at.podUid);
    await fs.mkdir(at.mapDir, { mode: 0o750 });
    if ((await this.#kindOf(place)) !== 'blockDevice') {
      await fs.writeFile(place, '', { mode: 0o750 });
      await mounter.bind(real, place, signal);
    }
    await this.link(at, real);
    if ((await loops.find(place)) === undefined) await loops.attach(place, signal);
  }

  /** Reverts {@link map}, except for the link. @throws VolumeError or a system error */
  async unmap({ mapDir, podUid }: Pick<BlockMap, 'mapDir' | 'podUid'>, signal: AbortSignal): Promise<void> {
    const { mounter, loops } = this.#components;
    const place = join(mapDir, podUid);
    const loop = await loops.find(place);
    if (loop !== undefined) await loops.detach(loop, signal);
    const kind = await this.#kindOf(place);
    if (kind === 'blockDevice') await mounter.unmount(place, signal);
    if (kind !== undefined) await this.#remove(place);
  }

  /**
   * Checks that the device is not mapped for any pod, so that it can be unstaged. Upstream relies on the file types
   * that readdir(3) returns (`GetDeviceBindMountRefs`), which do not show mounts. @throws VolumeError `StillMounted` if
   * the device is mapped for any pod
   */
  async checkUnused(mapDir: string): Promise<void> {
    const refs: string[] = [];
    for (const { name } of await readDirectory(this.#components.fs, mapDir)) {
      // readdir(3) returns the type of the file below a mount, so each file is checked with lstat(2).
      if ((await this.#kindOf(join(mapDir, name))) === 'blockDevice') refs.push(join(mapDir, name));
    }
    if (refs.length === 0) return;
    const why = `the device ${JSON.stringify(mapDir)} is still referenced from other Pods [${refs.join(' ')}]`;
    throw new VolumeError('StillMounted', why);
  }

  async #kindOf(path: string): Promise<FileKind | undefined> {
    try {
      return (await this.#components.fs.lstat(path)).kind;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async #remove(path: string): Promise<void> {
    await this.#components.fs.remove(path).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
    });
  }
}
