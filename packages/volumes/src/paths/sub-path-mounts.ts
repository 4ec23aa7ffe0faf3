import { dirname } from 'node:path';
import { abortable, KeyedMutex } from '@node-agent/async';
import {
  errorCode,
  type FileStat,
  type FileSystem,
  type ForeignFiles,
  type HeldPlace,
  isMissing,
} from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';
import { VolumeError } from '../errors.ts';
import type { MountedVolume } from '../manager/plugin.ts';
import { type Mounter, mountPointsWithin } from '../mount/mounter.ts';
import { takeAway } from '../mount/take-away.ts';
import type { PodPaths } from './pod-paths.ts';
import { readDirectory } from './volumes-on-disk.ts';

/** What {@link SubPathMounts} works with. */
export interface SubPathComponents {
  readonly fs: Pick<FileSystem, 'mkdir' | 'readdir' | 'writeFile' | 'remove' | 'realpath' | 'lstat' | 'holdBeneath'>;
  readonly foreignFiles: SubPathForeignFiles;
  readonly mounter: Mounter;
  readonly paths: PodPaths;
  readonly logger: Logger;
}

/** What of foreign files sub-paths need. */
export type SubPathForeignFiles = Pick<ForeignFiles, 'lstat' | 'holdBeneath'>;

/** A part of a volume that one mount of one container shows. */
export interface SubPath {
  readonly podUid: string;
  readonly container: string;
  /** As the pod calls it. */
  readonly volumeName: string;
  /** What its directories in the pod's are called. */
  readonly directoryName: string;
  readonly volume: MountedVolume;
  /** Which of the container's `volumeMounts` it is. */
  readonly index: number;
  /** Relative to the volume; see `subPathOf`. */
  readonly path: string;
}

/** What was found in the volume, and who can tell what it is. */
interface Found {
  readonly place: HeldPlace;
  readonly lstat: (path: string) => Promise<FileStat>;
}

/**
 * Sub-paths of volumes: what a container is to see of a volume is found name by name through open directories, held, and
 * bound from what is held to `<pod>/volume-subpaths/<volume>/<container>/<index>`, so that nobody who writes in the volume can
 * have anything else mounted (`pkg/volume/util/subpath/subpath_linux.go`; the layout, modes and messages are upstream's).
 * What a former process left is found on the disk and in the mount table: used again where it shows what is wanted, and
 * taken away where not. Those of one pod wait for each other, and for no other pod's.
 */
export class SubPathMounts {
  readonly #components: SubPathComponents;
  readonly #pods = new KeyedMutex<string>();

  constructor(components: SubPathComponents) {
    this.#components = components;
  }

  /**
   * Mounts a sub-path; what is missing of it is made as the volume's directory is. Aborted, it is waited for no longer: what
   * is held is held until its mount has ended.
   * @returns where it shows
   * @throws VolumeError `SubPathFailed`, which tells nothing of the host
   */
  async prepare(subPath: SubPath, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const work = this.#pods.run(subPath.podUid, () => this.#prepare(subPath, signal));
    work.catch(() => undefined);
    return await abortable(work, signal);
  }

  /** Takes away all sub-paths of a pod's volume, whoever mounted them. @throws VolumeError, a system error */
  async clean(podUid: string, directoryName: string, signal: AbortSignal): Promise<void> {
    await this.#pods.run(podUid, () => this.#clean(podUid, directoryName, signal), signal);
  }

  async #prepare(subPath: SubPath, abandoned: AbortSignal): Promise<string> {
    const { fs, mounter, paths } = this.#components;
    const { podUid, directoryName, container, index } = subPath;
    // Whoever waits for its turn behind this may take away what the pod had.
    abandoned.throwIfAborted();
    const { place, lstat } = await this.#find(subPath);
    const target = paths.subPathDir(podUid, directoryName, container, index);
    // A mount is not broken off: it may come late, and then be of what is not held any more.
    const { signal } = new AbortController();
    try {
      if (await this.#shows(target, place, lstat)) return target;
      abandoned.throwIfAborted();
      await takeAway(this.#components, target, signal);
      await fs.mkdir(dirname(target), { mode: 0o750 });
      if (place.stat.kind === 'directory') await fs.mkdir(target, { mode: 0o750 });
      else await fs.writeFile(target, '', { mode: 0o640 });
      await mounter.bind(place.handle, target, signal);
      if (await this.#shows(target, place, lstat)) return target;
      throw new VolumeError('MountFailed', `${target} does not show what was mounted there`);
    } catch (err) {
      await takeAway(this.#components, target, signal).catch((left: unknown) => {
        this.#components.logger.warn(
          { err: left, podUid, path: target },
          'A sub-path that failed is not taken away yet',
        );
      });
      throw this.#failed('prepare subPath', subPath, err);
    } finally {
      await place.close();
    }
  }

  async #find(subPath: SubPath): Promise<Found> {
    const { fs, foreignFiles } = this.#components;
    const { volume } = subPath;
    if (!volume.foreign) {
      try {
        return await this.#hold(fs, subPath);
      } catch (error) {
        // It leads out, or a container has mounted there what may never answer: that is told there.
        if (!(VolumeError.is(error) && errorCode(error.cause) === 'EXDEV')) throw error;
      }
    }
    return await this.#hold(foreignFiles, subPath);
  }

  async #hold(
    files: Pick<FileSystem, 'holdBeneath'> & { lstat(path: string): Promise<FileStat> },
    subPath: SubPath,
  ): Promise<Found> {
    const { hostPath } = subPath.volume;
    const lstat = (path: string): Promise<FileStat> => files.lstat(path);
    try {
      return { place: await files.holdBeneath(hostPath, subPath.path), lstat };
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw this.#failed('prepare subPath', subPath, error);
    }
    try {
      return { place: await files.holdBeneath(hostPath, subPath.path, { makeDirectories: true }), lstat };
    } catch (error) {
      throw this.#failed('create subPath directory', subPath, error);
    }
  }

  /** Whether something is mounted at a name, and is what is held. */
  async #shows(target: string, place: HeldPlace, lstat: Found['lstat']): Promise<boolean> {
    if ((await mountPointsWithin(this.#components, target)).length === 0) return false;
    const { device, inode } = await lstat(target);
    return device === place.stat.device && inode === place.stat.inode;
  }

  async #clean(podUid: string, directoryName: string, signal: AbortSignal): Promise<void> {
    const { fs, paths } = this.#components;
    const ofVolume = `${paths.subPathsDir(podUid)}/${directoryName}`;
    for (const container of await readDirectory(fs, ofVolume)) {
      const ofContainer = `${ofVolume}/${container.name}`;
      if (container.kind === 'directory') {
        for (const { name } of await readDirectory(fs, ofContainer)) {
          await takeAway(this.#components, `${ofContainer}/${name}`, signal);
        }
      }
      await fs.remove(ofContainer);
    }
    for (const directory of [ofVolume, paths.subPathsDir(podUid)]) await this.#removeIfEmpty(directory);
  }

  async #removeIfEmpty(directory: string): Promise<void> {
    await this.#components.fs.remove(directory).catch((error: unknown) => {
      if (!isMissing(error) && errorCode(error) !== 'ENOTEMPTY') throw error;
    });
  }

  /** What is said tells nothing of the host; the log has it. */
  #failed(what: string, { podUid, container, volumeName }: SubPath, cause: unknown): VolumeError {
    if (VolumeError.is(cause) && cause.code === 'SubPathFailed') return cause;
    const fields = { podUid, container, volume: volumeName, err: cause };
    this.#components.logger.warn(fields, 'A sub-path of a volume cannot be mounted');
    const message = `failed to ${what} for volumeMount "${volumeName}" of container "${container}"`;
    return new VolumeError('SubPathFailed', message, cause);
  }
}
