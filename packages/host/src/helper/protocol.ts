import type { FileStat } from '../file-system.ts';
import { errorCode, type SystemError, systemError } from '../system-error.ts';
import type { WalkedUsage } from '../tree-usage.ts';

/** How large a file system is, and how much of it is free. */
export interface FileSystemSize {
  readonly totalBytes: number;
  /** What is free for anybody: more than is available where some is kept back for root. */
  readonly freeBytes: number;
  /** For users without privileges. */
  readonly availableBytes: number;
  readonly inodes: number;
  readonly freeInodes: number;
}

/** What became of a tree that was given to a group. */
export interface GivenTree {
  /** Names that were looked at, the tree's own directory among them. */
  readonly entries: number;
  /** Those that could not be changed, as on a file system that is read-only. */
  readonly failed: number;
  /** What the first of them failed with, and the directory that it is in; '' where none did. */
  readonly failure: string;
}

/** What a helper process can be asked for, by name, with its arguments and its answer. */
export interface HelperCalls {
  /** Links followed. */
  stat: { readonly args: readonly [path: string]; readonly value: FileStat };
  lstat: { readonly args: readonly [path: string]; readonly value: FileStat };
  realpath: { readonly args: readonly [path: string]; readonly value: string };
  statfs: { readonly args: readonly [path: string]; readonly value: FileSystemSize };
  /** Makes a directory with its parents; no error where it is there. */
  makeDirectory: { readonly args: readonly [path: string, mode: number]; readonly value: null };
  /** Makes an empty file, or leaves the one that is there as it is. */
  makeFile: { readonly args: readonly [path: string]; readonly value: null };
  /** Holds what is beneath a directory, as `FileSystem.holdBeneath` does, until it is released, or for {@link HOLD_MS}. */
  holdBeneath: {
    readonly args: readonly [directory: string, path: string, makeDirectories: number];
    readonly value: { readonly id: string; readonly handle: string; readonly stat: FileStat };
  };
  /** Ends what `holdBeneath` began; no error where it is not held any more, or by another helper. */
  release: { readonly args: readonly [id: string]; readonly value: null };
  /** What a directory takes, with all below it: so many names of it at most, for so many milliseconds. */
  treeUsage: {
    readonly args: readonly [path: string, maxEntries: number, deadlineMs: number];
    readonly value: WalkedUsage;
  };
  /** Removes whatever is at a path, with all below it, as `FileSystem.removeAll` does. */
  removeTree: { readonly args: readonly [path: string]; readonly value: null };
  /** Gives what is at a path, with all below it, to a group, as `FileSystem.giveToGroup` does. */
  giveTree: { readonly args: readonly [path: string, gid: number]; readonly value: GivenTree };
}

/** For how long a helper holds what nobody releases. */
export const HOLD_MS = 180_000;

export type HelperCallName = keyof HelperCalls;

/** A call, as JSON: texts keep bytes that are no UTF-8, as `textOfBytes` has them. */
export interface HelperRequest {
  readonly id: number;
  readonly name: HelperCallName;
  readonly args: readonly (string | number)[];
}

/** An answer; or, before it, that a long call goes on. */
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

/** The error that the helper met, as if it had been met here. */
export function fromHelperError({ code, syscall, path, message }: HelperError): SystemError {
  return Object.assign(systemError(code, syscall, path), { message });
}
