import type { FileSystemSize, GivenTree } from './helper/protocol.ts';

/** What kind of thing a path names. */
export type FileKind = 'file' | 'directory' | 'symlink' | 'socket' | 'fifo' | 'charDevice' | 'blockDevice';

/** What `stat` knows of a path. */
export interface FileStat {
  readonly kind: FileKind;
  readonly sizeBytes: number;
  /** What it takes of its file system: less than its size where it has holes, more where blocks are not full. */
  readonly allocatedBytes: number;
  /** Permission bits with setuid, setgid and sticky (0 to 0o7777). */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Milliseconds since the Unix epoch. */
  readonly modifiedAtMs: number;
  readonly inode: number;
  readonly device: number;
}

/** One entry of a directory. */
export interface DirectoryEntry {
  /** Leads to the entry, whatever bytes it is made of: those that are no UTF-8 are lone surrogates, as `textOfBytes` has them. */
  readonly name: string;
  readonly kind: FileKind;
}

/** An open file. */
export interface FileHandle {
  /** Reads up to `length` bytes from `position` on; fewer at the end of the file, none past it. */
  read(position: number, length: number): Promise<Uint8Array>;
  /** Writes all of `data` at the end of the file. */
  append(data: Uint8Array): Promise<void>;
  stat(): Promise<FileStat>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** How {@link FileSystem.openBeneath} takes links. */
export interface BeneathOptions {
  /** `within` follows them with the directory as the root of all paths, as in a chroot. Default: `refuse`, with ELOOP. */
  readonly links?: 'refuse' | 'within';
}

/** How {@link FileSystem.holdBeneath} takes what is missing. */
export interface HoldOptions {
  /** Makes directories that are missing, each of the mode that the directory itself has. Default: `false`, with ENOENT. */
  readonly makeDirectories?: boolean;
}

/** Something in the tree that is held: whatever has its name by now, this is what was found. It is not open to be read. */
export interface HeldPlace {
  /** A path that leads to it from every process of this machine, and nowhere else as long as it is held. */
  readonly handle: string;
  /** What it was when it was found. */
  readonly stat: FileStat;
  close(): Promise<void>;
}

/** What a walk through a tree may take. */
export interface UsageOptions {
  /** Names that are counted before it gives up. Default: 5,000,000. */
  readonly maxEntries?: number;
  /** For how long it walks. Default: 60,000. */
  readonly deadlineMs?: number;
  /**
   * Whether a file system in memory of its own (tmpfs) is mounted at the path: it keeps count by itself, and is asked rather than
   * walked. Files that are open and have no name any more count then, and a file of two names counts as two inodes. Default: false.
   */
  readonly keepsCount?: boolean;
}

/** What a directory takes, with all below it, and the file system that it is on. */
export interface TreeUsage {
  /** As allocated; a file of several names counts once. */
  readonly bytes: number;
  /** The directory itself included. */
  readonly inodes: number;
  /** Whether all was counted; where not, it is more than this. */
  readonly complete: boolean;
  readonly fileSystem: FileSystemSize;
}

/**
 * What a watch hints at: that a name came, went or names another file now (`entry`), or that the file of that name was written to
 * or has other attributes (`content`). Whoever wants less takes no second parameter.
 */
export type OnChange = (name: string | undefined, what: 'entry' | 'content') => void;

/**
 * The files of the host, as far as a kubelet touches them. Errors are Node's system errors, with `code` (`ENOENT`,
 * `EEXIST`, `ENOSPC`, ...). Managers take `Pick<FileSystem, ...>` of what they use.
 */
export interface FileSystem {
  /** Reads a file that the caller trusts: whole, and waiting for whoever writes a FIFO. See {@link openBeneath} for others. */
  readFile(path: string): Promise<Uint8Array>;
  /** Creates or replaces a file in place. `mode` is set exactly where given, whatever the umask. */
  writeFile(path: string, data: string | Uint8Array, options?: { readonly mode?: number }): Promise<void>;
  /** Writes to a temporary name beside `path`, syncs, renames: readers see the old or the new content, never a part. */
  writeFileAtomic(path: string, data: string | Uint8Array, options?: { readonly mode?: number }): Promise<void>;
  /**
   * Opens a file, or with `r` a directory. With `r` it never waits, and touches no FIFO, socket or device, wherever the path
   * leads by links. @throws ENXIO for those
   */
  open(path: string, flags: 'r' | 'a'): Promise<FileHandle>;
  /**
   * Opens a file for reading below a directory in which others may put anything under any name at any instant (W3, W5): no
   * name leads out of the directory or into another mount, nor is anything but a file opened, nor waited for.
   * @throws ELOOP for a link (see `links`); EXDEV for what leads out; ENAMETOOLONG for what lies more than 256 directories
   * deep; EISDIR; ENXIO for a FIFO, a socket, a device
   */
  openBeneath(directory: string, path: string, options?: BeneathOptions): Promise<FileHandle>;
  /**
   * Holds what a path names below a directory in which others may put anything under any name at any instant (W3): file,
   * directory or device. Links are followed that stay in the directory, those with an absolute
   * path too where it names the directory first; a link that leads nowhere is never made to lead somewhere.
   * @throws EXDEV for what leads out, or into another mount; ELOOP; ENOENT; ENOTDIR; ENAMETOOLONG for what lies more than 256 directories deep
   */
  holdBeneath(directory: string, path: string, options?: HoldOptions): Promise<HeldPlace>;
  /**
   * Makes a directory and its parents; no error where it exists. `mode` holds for all that are made: exactly for the last
   * one, within the umask for its parents. A directory that is there keeps its own.
   */
  mkdir(path: string, options?: { readonly mode?: number }): Promise<void>;
  /** The entries, sorted by name. */
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
   * Tells mounts apart: two paths have the same one where they are of one mount, of a bind mount too. The path is not
   * followed where it is a link, and the file system that is mounted there is not asked.
   */
  mountId(path: string): Promise<string>;
  /** Removes a file, link or empty directory. @throws ENOENT, ENOTEMPTY */
  remove(path: string): Promise<void>;
  /**
   * Removes whatever is at `path`, with all below it, whatever the names and however many; no error where absent. All that
   * can go is gone before the first error is thrown. @throws EBUSY for a mount point, which is neither entered nor removed; EINVAL for `/`
   */
  removeAll(path: string): Promise<void>;
  /**
   * Measures what is below a directory in which others may write anything: no link is followed, no mount entered, nothing but
   * directories opened, whatever the names (W3, W5). A large tree is walked by a process of its own.
   * @throws ENOENT, ENOTDIR; ETIMEDOUT where the kernel does not answer
   */
  usage(path: string, options?: UsageOptions): Promise<TreeUsage>;
  /**
   * Gives a directory, with all below it, to a group that may read it and write it from then on (`fsGroup`); what is made in it
   * later is the group's, too. Others may write in it meanwhile: no link is followed, no mount entered (W3). What cannot be changed is
   * counted and passed over; the directory itself is given last. A process of its own does it. Linux only.
   * @throws ENOENT, ENOTDIR; ETIMEDOUT where the kernel does not answer; ENOTSUP
   */
  giveToGroup(path: string, gid: number): Promise<GivenTree>;
  /**
   * Calls `onChange` when it has begun to watch, and after something in the directory or file may have changed, until
   * `signal` is aborted: then it resolves. It only hints: changes may be merged, and a caller repairs by looking for
   * itself from time to time. @throws ENOENT where `path` is not there, or goes away or is replaced
   */
  watch(path: string, onChange: OnChange, signal: AbortSignal): Promise<void>;
}
