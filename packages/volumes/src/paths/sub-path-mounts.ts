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

/** Dependencies of {@link SubPathMounts}. */
export interface SubPathComponents {
  readonly fs: Pick<FileSystem, 'mkdir' | 'readdir' | 'writeFile' | 'remove' | 'realpath' | 'lstat' | 'holdBeneath'>;
  readonly foreignFiles: SubPathForeignFiles;
  readonly mounter: Mounter;
  readonly paths: PodPaths;
  readonly logger: Logger;
}

/** File operations that subPaths need on file systems that may hang. */
export type SubPathForeignFiles = Pick<ForeignFiles, 'lstat' | 'holdBeneath'>;

/** A subPath of a volume, used by one mount of one container. */
export interface SubPath {
  readonly podUid: string;
  readonly container: string;
  /** Name of the volume in the pod. */
  readonly volumeName: string;
  /** Name of the volume's directories in the pod's directory. */
  readonly directoryName: string;
  readonly volume: MountedVolume;
  /** Index of the mount in the container's `volumeMounts`. */
  readonly index: number;
  /** Path relative to the volume; see `subPathOf`. */
  readonly path: string;
}

/** A held-open path in a volume, and the function that stats paths on the volume's file system. */
interface Found {
  readonly place: HeldPlace;
  readonly lstat: (path: string) => Promise<FileStat>;
}

/**
 * Mounts subPaths of volumes. The path is resolved component by component through open directories and held open; the
 * held file is then bind-mounted to `<pod>/volume-subpaths/<volume>/<container>/<index>`. A process that writes to the
 * volume therefore cannot redirect the mount (`pkg/volume/util/subpath/subpath_linux.go`; layout, modes and messages
 * are upstream's). Mounts of a former process are found on disk and in the mount table: they are reused if they show
 * the right file, else removed. Operations of one pod are serialized; different pods are independent.
 */
export class SubPathMounts {
  readonly #components: SubPathComponents;
  readonly #pods = new KeyedMutex<string>();

  constructor(components: SubPathComponents) {
    this.#components = components;
  }

  /**
   * Mounts a subPath. Missing directories are created with the volume's mode. If `signal` is aborted, the wait ends;
   * the file stays held until its mount has finished.
   * @returns the path at which the subPath is mounted
   * @throws VolumeError `SubPathFailed`, whose message reveals nothing about the host
   */
  async prepare(subPath: SubPath, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const work = this.#pods.run(subPath.podUid, () => this.#prepare(subPath, signal));
    work.catch(() => undefined);
    return await abortable(work, signal);
  }

  /** Unmounts all subPaths of a pod's volume, whichever process mounted them. @throws VolumeError or a system error */
  async clean(podUid: string, directoryName: string, signal: AbortSignal): Promise<void> {
    await this.#pods.run(podUid, () => this.#clean(podUid, directoryName, signal), signal);
  }

  async #prepare(subPath: SubPath, abandoned: AbortSignal): Promise<string> {
    const { fs, mounter, paths } = this.#components;
    const { podUid, directoryName, container, index } = subPath;
    // If the caller has stopped waiting, nothing may be mounted any more, because the pod's next operation may unmount
    // its volumes.
    abandoned.throwIfAborted();
    const { place, lstat } = await this.#find(subPath);
    const target = paths.subPathDir(podUid, directoryName, container, index);
    // A mount is never interrupted: it might otherwise complete later, when the file is no longer held open.
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
      throw new VolumeError('MountFailed', `${target} does not show the mounted file`);
    } catch (err) {
      await takeAway(this.#components, target, signal).catch((left: unknown) => {
        this.#components.logger.warn(
          { err: left, podUid, path: target },
          'Failed to remove a subPath mount that failed',
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
        // `EXDEV`: the path leads out of the volume, or a container mounted a file system on it that may hang. The
        // access through `foreignFiles` below reports which.
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

  /** Returns whether the held file is mounted at a path. */
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

  /** Logs the cause, and returns an error that reveals nothing about the host. */
  #failed(what: string, { podUid, container, volumeName }: SubPath, cause: unknown): VolumeError {
    if (VolumeError.is(cause) && cause.code === 'SubPathFailed') return cause;
    const fields = { podUid, container, volume: volumeName, err: cause };
    this.#components.logger.warn(fields, 'Failed to mount a subPath of a volume');
    const message = `failed to ${what} for volumeMount "${volumeName}" of container "${container}"`;
    return new VolumeError('SubPathFailed', message, cause);
  }
}
