import type { FileStat } from '../file-system.ts';
import { errorCode, type SystemError, systemError } from '../system-error.ts';
import type { WalkedUsage } from '../tree-usage.ts';

/** Size and free space of a file system. */
export interface FileSystemSize {
  readonly totalBytes: number;
  /** Free bytes including those reserved for root. */
  readonly freeBytes: number;
  /** Bytes available to unprivileged users. */
  readonly availableBytes: number;
  readonly inodes: number;
  readonly freeInodes: number;
}

/** Result of giving a tree to a group. */
export interface GivenTree {
  /** Number of visited entries, including the tree's own directory. */
  readonly entries: number;
  /** Number of entries that could not be changed, for example on a read-only file system. */
  readonly failed: number;
  /** Error code and directory of the first failed entry; empty if none failed. */
  readonly failure: string;
}

/** Calls of a helper process, with their arguments and results. */
export interface HelperCalls {
  /** Returns the state of the file at a path; symlinks are followed. */
  stat: { readonly args: readonly [path: string]; readonly value: FileStat };
  lstat: { readonly args: readonly [path: string]; readonly value: FileStat };
  realpath: { readonly args: readonly [path: string]; readonly value: string };
  statfs: { readonly args: readonly [path: string]; readonly value: FileSystemSize };
  /** Creates a directory and its parents; an existing directory is not an error. */
  makeDirectory: { readonly args: readonly [path: string, mode: number]; readonly value: null };
  /** Creates an empty file; an existing file is left unchanged. */
  makeFile: { readonly args: readonly [path: string]; readonly value: null };
  /** Opens a block device exclusively. The value is false for a path that is no block device, or does not exist. */
  isDeviceInUse: { readonly args: readonly [path: string]; readonly value: boolean };
  /**
   * Holds the target of a path below a directory, as `FileSystem.holdBeneath` does, until it is released or {@link
   * HOLD_MS} have passed.
   */
  holdBeneath: {
    readonly args: readonly [directory: string, path: string, makeDirectories: number];
    readonly value: { readonly id: string; readonly handle: string; readonly stat: FileStat };
  };
  /**
   * Releases what `holdBeneath` holds. An ID of which nothing is held any more, or which another helper gave, is not
   * an error.
   */
  release: { readonly args: readonly [id: string]; readonly value: null };
  /** Measures a directory with everything below it, up to the given number of entries and milliseconds. */
  treeUsage: {
    readonly args: readonly [path: string, maxEntries: number, deadlineMs: number];
    readonly value: WalkedUsage;
  };
  /** Removes a path with everything below it, as `FileSystem.removeAll` does. */
  removeTree: { readonly args: readonly [path: string]; readonly value: null };
  /** Gives a path with everything below it to a group, as `FileSystem.giveToGroup` does. */
  giveTree: { readonly args: readonly [path: string, gid: number]; readonly value: GivenTree };
}

/** Time after which a helper releases a file, directory or device that the caller of `holdBeneath` did not release. */
export const HOLD_MS = 180_000;

export type HelperCallName = keyof HelperCalls;

/** A call, as JSON. Bytes that are not UTF-8 are represented as `textOfBytes` does. */
export interface HelperRequest {
  readonly id: number;
  readonly name: HelperCallName;
  readonly args: readonly (string | number)[];
}

/** A response, or, before the response, a message that a long call is making progress. */
export type HelperResponse =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: HelperError }
  | { readonly id: number; readonly progress: true };

/** A system error, as JSON. */
export interface HelperError {
  readonly code: string;
  readonly syscall: string;
  readonly path: string;
  readonly message: string;
}

export function toHelperError(error: unknown, path: string): HelperError {
  const message = error instanceof Error ? error.message : String(error);
  const { syscall = 'call', path: named = path } = (error instanceof Error ? error : {}) as Partial<SystemError>;
  return { code: errorCode(error) ?? 'EIO', syscall, path: String(named), message };
}

/** Converts an error reported by the helper into a system error of this process. */
export function fromHelperError({ code, syscall, path, message }: HelperError): SystemError {
  return Object.assign(systemError(code, syscall, path), { message });
}
