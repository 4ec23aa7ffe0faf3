import type { FileStat, HeldPlace, HoldOptions } from '../file-system.ts';
import type { FileSystemSize } from '../helper/protocol.ts';

/**
 * Files on file systems that are not the kubelet's own, and may never answer: a host path on a server that is gone, a
 * FUSE whose program hangs. A call ends in time, whatever the file system does, and holds up no other call (W6).
 * Errors are system errors; ETIMEDOUT where there was no answer, and at once where there was none a moment ago.
 */
export interface ForeignFiles {
  /** Links followed. */
  stat(path: string, signal?: AbortSignal): Promise<FileStat>;
  lstat(path: string, signal?: AbortSignal): Promise<FileStat>;
  realpath(path: string, signal?: AbortSignal): Promise<string>;
  /** How large the file system at a path is, and how much of it is free. */
  statfs(path: string, signal?: AbortSignal): Promise<FileSystemSize>;
  /** Makes a directory and its parents; no error where it is there. @param mode set exactly, whatever the umask */
  makeDirectory(path: string, mode: number, signal?: AbortSignal): Promise<void>;
  /** Makes an empty file, or leaves the one that is there as it is. */
  makeFile(path: string, signal?: AbortSignal): Promise<void>;
  /**
   * As `FileSystem.holdBeneath`, into other mounts too, and what is mounted on demand on the way is mounted. It is held for three minutes at most: what
   * is done with it is to be checked afterwards.
   */
  holdBeneath(directory: string, path: string, options?: HoldOptions, signal?: AbortSignal): Promise<HeldPlace>;
}
