import type { FileSystemSize, GivenTree } from './helper/protocol.ts';

/** Kind of a path's target. */
export type FileKind = 'file' | 'directory' | 'symlink' | 'socket' | 'fifo' | 'charDevice' | 'blockDevice';

/** Result of `stat`. */
export interface FileStat {
  readonly kind: FileKind;
  readonly sizeBytes: number;
  /** Allocated bytes: less than the size for a sparse file, more if the last block is not full. */
  readonly allocatedBytes: number;
  /** Permission bits including setuid, setgid and sticky (0 to 0o7777). */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Milliseconds since the Unix epoch. */
  readonly modifiedAtMs: number;
  readonly inode: number;
  readonly device: number;
}

/** An entry of a directory. */
export interface DirectoryEntry {
  /**
   * Name that leads back to the entry, whatever its bytes. Bytes that are not UTF-8 are lone surrogates, as in
   * `textOfBytes`.
   */
  readonly name: string;
  readonly kind: FileKind;
}

/** An open file. */
export interface FileHandle {
  /** Reads up to `length` bytes from `position`: fewer at the end of the file, none beyond it. */
  read(position: number, length: number): Promise<Uint8Array>;
  /** Writes all of `data` at the end of the file. */
  append(data: Uint8Array): Promise<void>;
  stat(): Promise<FileStat>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Treatment of symlinks by {@link FileSystem.openBeneath}. */
export interface BeneathOptions {
  /**
   * `within` follows symlinks with the directory as the root of all paths, as in a chroot. Default: `refuse`, which
   * fails with ELOOP.
   */
  readonly links?: 'refuse' | 'within';
}

/** Treatment of missing directories by {@link FileSystem.holdBeneath}. */
export interface HoldOptions {
  /**
   * Whether missing directories are created, with the mode of the start directory. Default: `false`, which fails with
   * ENOENT.
   */
  readonly makeDirectories?: boolean;
}

/**
 * A file, directory or device that {@link FileSystem.holdBeneath} has found and holds. The handle keeps referring to
 * the found object even if its name changes. The object is not open for reading.
 */
export interface HeldPlace {
  /** Path that leads to the object from every process of this machine, and to nothing else while the object is held. */
  readonly handle: string;
  /** State of the object when it was found. */
  readonly stat: FileStat;
  close(): Promise<void>;
}

/** Limits of a measurement of a tree. */
export interface UsageOptions {
  /** Number of entries after which the measurement gives up. Default: 5,000,000. */
  readonly maxEntries?: number;
  /** Time after which the measurement gives up, in milliseconds. Default: 60,000. */
  readonly deadlineMs?: number;
  /**
   * Whether a separate in-memory file system (tmpfs) is mounted at the path. If so, the counters of that file system
   * are used instead of a walk. The counters include open files without a name, and count a file with two names as two
   * inodes. Default: false.
   */
  readonly keepsCount?: boolean;
}

/** Usage of a directory with everything below it, and the file system that holds it. */
export interface TreeUsage {
  /** Allocated bytes. A file with several names counts once. */
  readonly bytes: number;
  /** Number of inodes, including the directory itself. */
  readonly inodes: number;
  /** Whether everything was counted. If false, the real usage is higher. */
  readonly complete: boolean;
  readonly fileSystem: FileSystemSize;
}

/**
 * Receives hints of a watch. `entry`: the name appeared, disappeared or refers to another file now. `content`: the file
 * of that name was written or its attributes changed. A caller that does not need the distinction can ignore the second
 * parameter.
 */
export type OnChange = (name: string | undefined, what: 'entry' | 'content') => void;

/** Options of {@link FileSystem.writeFileAtomic}. */
export interface AtomicWriteOptions {
  /** Default: 0666 without the bits of the umask. */
  readonly mode?: number;
  /**
   * Called when readers see the new content, which then survives the end of this process. A power loss may still undo
   * the replacement until the write resolves. Must not throw.
   */
  readonly onReplaced?: () => void;
}

/**
 * The operations on the host's files that a kubelet uses. Errors are Node's system errors with a `code` (`ENOENT`,
 * `EEXIST`, `ENOSPC`, ...). Managers declare `Pick<FileSystem, ...>` of the methods that they use.
 */
export interface FileSystem {
  /**
   * Reads a whole file that the caller trusts. For a FIFO the call waits for a writer. For untrusted paths use {@link
   * openBeneath}.
   */
  readFile(path: string): Promise<Uint8Array>;
  /** Creates or replaces a file in place. `mode` is applied exactly, regardless of the umask. */
  writeFile(path: string, data: string | Uint8Array, options?: { readonly mode?: number }): Promise<void>;
  /**
   * Writes to a temporary file beside `path`, syncs it and renames it. Readers see either the old or the new content,
   * never a part.
   */
  writeFileAtomic(path: string, data: string | Uint8Array, options?: AtomicWriteOptions): Promise<void>;
  /**
   * Opens a file, or with `r` also a directory. With `r` the call never waits and does not open a FIFO, socket or
   * device, even through symlinks. @throws ENXIO for a FIFO, socket or device
   */
  open(path: string, flags: 'r' | 'a'): Promise<FileHandle>;
  /**
   * Opens a file for reading below a directory in which others may change every name at any time (W3, W5). No name can
   * lead out of the directory or into another mount. Only regular files are opened, without waiting.
   * @throws ELOOP for a symlink (see `links`)
   * @throws EXDEV if the path leads out of the directory
   * @throws ENAMETOOLONG if the file is more than 256 directories deep
   * @throws EISDIR; ENXIO for a FIFO, socket or device
   */
  openBeneath(directory: string, path: string, options?: BeneathOptions): Promise<FileHandle>;
  /**
   * Holds the target of a path below a directory in which others may change every name at any time (W3): a file,
   * directory or device. Symlinks that stay in the directory are followed, and absolute ones if they start with the
   * directory's path. A dangling symlink is never completed by creating its target.
   * @throws EXDEV if the path leads out of the directory or into another mount
   * @throws ELOOP, ENOENT, ENOTDIR
   * @throws ENAMETOOLONG if the target is more than 256 directories deep
   */
  holdBeneath(directory: string, path: string, options?: HoldOptions): Promise<HeldPlace>;
  /**
   * Creates a directory and its parents; an existing directory is not an error and keeps its mode. `mode` applies to
   * all created directories: exactly to the last one, and reduced by the umask to its parents.
   */
  mkdir(path: string, options?: { readonly mode?: number }): Promise<void>;
  /** Returns the entries, sorted by name. */
  readdir(path: string): Promise<readonly DirectoryEntry[]>;
  stat(path: string): Promise<FileStat>;
  lstat(path: string): Promise<FileStat>;
  exists(path: string): Promise<boolean>;
  chmod(path: string, mode: number): Promise<void>;
  chown(path: string, uid: number, gid: number): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  symlink(target: string, path: string): Promise<void>;
  readlink(path: string): Promise<string>;
  realpath(path: string): Promise<string>;
  /**
   * Returns an ID of the mount that contains the path. Two paths have the same ID if they are in the same mount; bind
   * mounts have their own IDs. A symlink at the path is not followed, and the mounted file system is not called.
   */
  mountId(path: string): Promise<string>;
  /** Removes a file, symlink or empty directory. @throws ENOENT, ENOTEMPTY */
  remove(path: string): Promise<void>;
  /**
   * Removes `path` with everything below it, regardless of names and number of entries. A missing path is not an error.
   * Everything removable is removed before the first error is thrown.
   * @throws EBUSY for a mount point, which is neither entered nor removed
   * @throws EINVAL for `/`
   */
  removeAll(path: string): Promise<void>;
  /**
   * Measures a directory in which others may write anything: no symlink is followed, no other mount is entered, and
   * only directories are opened (W3, W5). A large tree is walked by a helper process.
   * @throws ENOENT, ENOTDIR
   * @throws ETIMEDOUT if the kernel does not respond
   */
  usage(path: string, options?: UsageOptions): Promise<TreeUsage>;
  /**
   * Gives a directory with everything below it to a group, which can then read and write it (`fsGroup`). Entries
   * created later belong to the group, too. Others may write in the tree at the same time: no symlink is followed, and
   * no other mount is entered (W3). Entries that cannot be changed are counted and skipped. The directory itself is
   * changed last. A helper process does the work. Linux only.
   * @throws ENOENT, ENOTDIR, ENOTSUP
   * @throws ETIMEDOUT if the kernel does not respond
   */
  giveToGroup(path: string, gid: number): Promise<GivenTree>;
  /**
   * Calls `onChange` once when the watch is established, and after each possible change of the directory or file, until
   * `signal` is aborted; then the promise resolves. The calls are only hints: changes may be merged, and callers should
   * also check from time to time.
   * @throws ENOENT if `path` does not exist, is removed or is replaced
   */
  watch(path: string, onChange: OnChange, signal: AbortSignal): Promise<void>;
}
