import type { FileStat, HeldPlace, HoldOptions } from '../file-system.ts';
import type { FileSystemSize } from '../helper/protocol.ts';

/**
 * Files on file systems that the kubelet does not own and that may never respond: a host path on an unreachable server,
 * or a FUSE file system whose process hangs. Every call ends within its deadline and delays no other call (W6). Errors
 * are system errors. A call without a response fails with ETIMEDOUT; soon afterwards, further calls to the same place
 * fail with ETIMEDOUT immediately.
 */
export interface ForeignFiles {
  /** Returns the state of the file at a path; symlinks are followed. */
  stat(path: string, signal?: AbortSignal): Promise<FileStat>;
  lstat(path: string, signal?: AbortSignal): Promise<FileStat>;
  realpath(path: string, signal?: AbortSignal): Promise<string>;
  /** Returns the size and free space of the file system at a path. */
  statfs(path: string, signal?: AbortSignal): Promise<FileSystemSize>;
  /**
   * Creates a directory and its parents; an existing directory is not an error. @param mode applied exactly, regardless
   * of the umask
   */
  makeDirectory(path: string, mode: number, signal?: AbortSignal): Promise<void>;
  /** Creates an empty file; an existing file is left unchanged. */
  makeFile(path: string, signal?: AbortSignal): Promise<void>;
  /**
   * Returns whether a block device is mounted, or is open exclusively, anywhere on the machine (`O_EXCL`). Returns
   * false for a path that is no block device, or does not exist. A device that does not respond delays no other path.
   */
  isDeviceInUse(path: string, signal?: AbortSignal): Promise<boolean>;
  /**
   * Does the same as `FileSystem.holdBeneath`, but also enters other mounts and triggers automounts along the path. The
   * target is held for at most three minutes, so callers must check afterwards that it was still held while they used
   * it.
   */
  holdBeneath(directory: string, path: string, options?: HoldOptions, signal?: AbortSignal): Promise<HeldPlace>;
}
