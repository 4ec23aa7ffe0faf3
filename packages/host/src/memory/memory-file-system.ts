import { type Clock, systemClock } from '@node-agent/async';
import { writeAtomically } from '../atomic-write.ts';
import type {
  AtomicWriteOptions,
  BeneathOptions,
  DirectoryEntry,
  FileHandle,
  FileKind,
  FileStat,
  FileSystem,
  HeldPlace,
  HoldOptions,
  OnChange,
  TreeUsage,
  UsageOptions,
} from '../file-system.ts';
import type { GivenTree } from '../helper/protocol.ts';
import { isMissing, systemError } from '../system-error.ts';
import { type MemoryWalkRules, nodeBeneath } from './beneath.ts';
import { FaultPlan, type FileFault, type FileOperation, type InjectedFault } from './faults.ts';
import { HeldNodes } from './held-nodes.ts';
import { namesAt, pathsBelow } from './listing.ts';
import { asFile, type FileAccess, MemoryFileHandle } from './memory-file-handle.ts';
import {
  contentOf,
  type DirectoryNode,
  type FileNode,
  forgetUnsynced,
  type MemoryNode,
  statOfNode,
  syncFile,
  syncNames,
  truncate,
  usedBytes,
} from './nodes.ts';
import { whyNotRename } from './rename-rule.ts';
import type { Resolved } from './resolve.ts';
import { type Found, MemoryTree } from './tree.ts';

/** Options of a {@link MemoryFileSystem}. */
export interface MemoryFileSystemOptions {
  /** Bytes of content above which writes fail with ENOSPC. Default: no limit. */
  readonly limitBytes?: number;
}

/**
 * A file system in memory with the POSIX rules for root (umask 022) and injectable faults. The file system does no I/O:
 * every operation settles in microtasks, so that a fake clock's `settle()` waits for the operation.
 */
export class MemoryFileSystem implements FileSystem {
  readonly #tree: MemoryTree;
  readonly #faults = new FaultPlan();
  readonly #held = new HeldNodes();
  readonly #access: FileAccess = {
    check: (operation, path) => this.#faults.check(operation, path),
    append: (at, file, data) => this.#tree.append(at, file, data),
  };

  constructor(
    { clock = systemClock }: { readonly clock?: Pick<Clock, 'now'> } = {},
    options: MemoryFileSystemOptions = {},
  ) {
    this.#tree = new MemoryTree(clock, options.limitBytes ?? Number.POSITIVE_INFINITY);
  }

  /** Makes operations fail or hang; see {@link FileFault}. */
  injectFault(fault: FileFault): InjectedFault {
    return this.#faults.inject(fault);
  }

  /** Block devices that are mounted, or open exclusively. */
  readonly devicesInUse: Set<string> = new Set();

  /** Largest number of bytes of content; may be changed at any time. */
  get limitBytes(): number {
    return this.#tree.limitBytes;
  }

  set limitBytes(bytes: number) {
    this.#tree.limitBytes = bytes;
  }

  /** Current number of bytes of content. */
  get usedBytes(): number {
    return usedBytes(this.#tree.root);
  }

  /** Returns all mount points. */
  mountPoints(): string[] {
    return pathsBelow(this.#tree.root, (parent, name) => this.#tree.isMountPoint(parent, name));
  }

  /** Returns every path below the root, sorted, for comparison in tests. */
  paths(): string[] {
    return pathsBelow(this.#tree.root);
  }

  /**
   * Returns the names in a directory, sorted and regardless of faults; an empty list if the path is not a directory.
   */
  names(path: string): string[] {
    return namesAt(this.#tree.root, path);
  }

  /** Number of active watches, for leak checks in tests. */
  get openWatches(): number {
    return this.#tree.watchers.size;
  }

  /**
   * Simulates a power loss. Content that was not synced is lost. Changed names are lost unless their directory was
   * synced since. Created and removed directories persist, as on a journalling file system.
   * @param disk directory with its own disk, to which alone the loss applies. Default: the whole file system
   * @throws ENOENT if `disk` does not exist
   */
  powerLoss(disk = '/'): void {
    forgetUnsynced(this.#tree.existing(disk, true, 'sync').node);
  }

  /** Creates a socket, FIFO or device. */
  makeSpecial(path: string, kind: Exclude<FileKind, 'file' | 'directory' | 'symlink'>, mode = 0o600): void {
    this.#tree.createSpecial(this.#free(path, 'mknod'), kind, mode);
  }

  /** Mounts a separate empty file system on a directory, until {@link unmount}. */
  mount(path: string): void {
    this.#tree.mount(this.#tree.existing(path, true, 'mount'));
  }

  /** Bind-mounts the target of a {@link holdBeneath} handle on a path, as mount(8) does, until {@link unmount}. */
  bind(handle: string, path: string): void {
    const node = this.#held.get(handle);
    if (node === undefined) throw systemError('ENOENT', 'mount', handle);
    this.#tree.bind(node, this.#tree.existing(path, false, 'mount'));
  }

  /** Removes the mount at the path. @throws EINVAL if nothing is mounted there */
  unmount(path: string): void {
    this.#tree.unmount(this.#tree.existing(path, false, 'umount'));
  }

  /** Number of files, directories and devices that `holdBeneath` holds, for leak checks in tests. */
  get heldPlaces(): number {
    return this.#held.size;
  }

  async readFile(path: string): Promise<Uint8Array> {
    if (this.#faults.hangs) await this.#faults.released('read', path);
    return contentOf(asFile(this.#enter('read', path).node, path, 'read')).slice();
  }

  async writeFile(path: string, data: string | Uint8Array, options?: { readonly mode?: number }): Promise<void> {
    if (this.#faults.hangs) await this.#faults.released('open', path);
    this.#faults.check('open', path);
    const found = this.#tree.lookUp(path, true, 'open');
    const file = found.node === undefined ? this.#tree.createFile(found, undefined) : asFile(found.node, path, 'open');
    truncate(file);
    this.#tree.touchFile(found, file);
    this.#fill(found, file, data, options?.mode);
  }

  async writeFileAtomic(path: string, data: string | Uint8Array, options?: AtomicWriteOptions): Promise<void> {
    const createSynced = async (temporary: string): Promise<void> => {
      this.#faults.check('open', temporary);
      const at = this.#free(temporary, 'open');
      const file = this.#tree.createFile(at, undefined);
      this.#fill(at, file, data, options?.mode);
      this.#sync(temporary, file);
    };
    const syncDirectory = async (directory: string): Promise<void> => {
      const { node } = this.#enter('syncDirectory', directory);
      if (node.kind !== 'directory') throw systemError('ENOTDIR', 'fsync', directory);
      syncNames(node);
    };
    const rename = (from: string, to: string): Promise<void> => this.rename(from, to);
    const remove = (temporary: string): Promise<void> => this.remove(temporary);
    await writeAtomically({ createSynced, rename, syncDirectory, remove }, path, 0, options);
  }

  async open(path: string, flags: 'r' | 'a'): Promise<FileHandle> {
    if (this.#faults.hangs) await this.#faults.released('open', path);
    this.#faults.check('open', path);
    const found = flags === 'a' ? this.#tree.lookUp(path, true, 'open') : this.#tree.existing(path, true, 'open');
    const node = found.node ?? this.#tree.createFile(found, undefined);
    // As on Linux, a directory may be opened, but neither read nor written.
    if (flags === 'r' && node.kind === 'directory') return new MemoryFileHandle(this.#access, path, node);
    const file = asFile(node, path, 'open');
    if (flags === 'r') return new MemoryFileHandle(this.#access, path, file);
    const { parent, name } = found;
    return new MemoryFileHandle(this.#access, path, file, { parent, name, realPath: path });
  }

  async openBeneath(directory: string, path: string, options: BeneathOptions = {}): Promise<FileHandle> {
    const at = `${directory}/${path}`;
    if (this.#faults.hangs) await this.#faults.released('open', at);
    const root = this.#enter('open', directory);
    const node = await nodeBeneath(root.node, path, this.#walkRules(root, options.links ?? 'refuse'), at);
    if (node.kind === 'directory') throw systemError('EISDIR', 'open', at);
    if (node.kind !== 'file') throw systemError('ENXIO', 'open', at);
    return new MemoryFileHandle(this.#access, at, node);
  }

  holdBeneath(directory: string, path: string, options: HoldOptions = {}): Promise<HeldPlace> {
    return this.holdBeneathMounts(directory, path, options, false);
  }

  /** Does the same as {@link holdBeneath}, but also enters other mounts, as `ForeignFiles` requires. */
  async holdBeneathMounts(
    directory: string,
    path: string,
    { makeDirectories = false }: HoldOptions,
    crossMounts: boolean,
  ): Promise<HeldPlace> {
    const at = `${directory}/${path}`;
    if (this.#faults.hangs) await this.#faults.released('open', at);
    const root = this.#enter('open', directory);
    const make = (parent: DirectoryNode, name: string): MemoryNode => {
      this.#faults.check('mkdir', at);
      return this.#tree.createDirectoryIn(parent, name, root.node.mode);
    };
    const rules = { ...this.#walkRules(root, 'beneath'), crossMounts, ...(makeDirectories && { make }) };
    const node = await nodeBeneath(root.node, path, rules, at);
    return this.#held.hold(node);
  }

  async mkdir(path: string, options?: { readonly mode?: number }): Promise<void> {
    if (this.#faults.hangs) await this.#faults.released('mkdir', path);
    this.#faults.check('mkdir', path);
    this.#tree.makeDirectories(path, options?.mode);
  }

  async readdir(path: string): Promise<readonly DirectoryEntry[]> {
    if (this.#faults.hangs) await this.#faults.released('readdir', path);
    const { node } = this.#enter('readdir', path);
    if (node.kind !== 'directory') throw systemError('ENOTDIR', 'scandir', path);
    const entries = [...node.entries].map(([name, child]) => ({ name, kind: child.kind }));
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async stat(path: string): Promise<FileStat> {
    if (this.#faults.hangs) await this.#faults.released('stat', path);
    return statOfNode(this.#enter('stat', path).node);
  }

  async lstat(path: string): Promise<FileStat> {
    if (this.#faults.hangs) await this.#faults.released('stat', path);
    return statOfNode(this.#enter('stat', path, false).node);
  }

  async exists(path: string): Promise<boolean> {
    if (this.#faults.hangs) await this.#faults.released('stat', path);
    try {
      this.#enter('stat', path);
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  async chmod(path: string, mode: number): Promise<void> {
    if (this.#faults.hangs) await this.#faults.released('chmod', path);
    this.#enter('chmod', path).node.mode = mode & 0o7777;
  }

  async chown(path: string, uid: number, gid: number): Promise<void> {
    if (this.#faults.hangs) await this.#faults.released('chown', path);
    Object.assign(this.#enter('chown', path).node, { uid, gid });
  }

  async rename(from: string, to: string): Promise<void> {
    if (this.#faults.hangs) await this.#faults.released('rename', from);
    const source = this.#enter('rename', from, false);
    const target = this.#tree.lookUp(to, false, 'rename');
    const refusal = whyNotRename(source, target, this.#tree.isMountPoint(source.parent, source.name));
    if (refusal !== undefined) throw systemError(refusal, 'rename', from, `cannot become '${to}'`);
    if (source.node === target.node) return;
    this.#tree.unlink(source.parent, source.name);
    this.#tree.link(target.parent, target.name, source.node);
  }

  async symlink(target: string, path: string): Promise<void> {
    if (this.#faults.hangs) await this.#faults.released('symlink', path);
    this.#faults.check('symlink', path);
    this.#tree.createLink(this.#free(path, 'symlink'), target);
  }

  async readlink(path: string): Promise<string> {
    if (this.#faults.hangs) await this.#faults.released('readlink', path);
    const { node } = this.#enter('readlink', path, false);
    if (node.kind !== 'symlink') throw systemError('EINVAL', 'readlink', path);
    return node.target;
  }

  async realpath(path: string): Promise<string> {
    if (this.#faults.hangs) await this.#faults.released('realpath', path);
    return this.#enter('realpath', path).realPath;
  }

  async mountId(path: string): Promise<string> {
    return `${this.#enter('mountId', path, false).node.device}`;
  }

  async remove(path: string): Promise<void> {
    if (this.#faults.hangs) await this.#faults.released('remove', path);
    const found = this.#enter('remove', path, false);
    if (found.name === '' || this.#tree.isMountPoint(found.parent, found.name))
      throw systemError('EBUSY', 'rmdir', path);
    if (found.node.kind === 'directory' && found.node.entries.size > 0) throw systemError('ENOTEMPTY', 'rmdir', path);
    this.#tree.unlink(found.parent, found.name);
  }

  async removeAll(path: string): Promise<void> {
    if (!/[^/]/.test(path)) throw systemError('EINVAL', 'rm', path, 'refusing to remove this path');
    try {
      await this.#removeTree(path);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  async usage(path: string, { maxEntries = 5_000_000 }: UsageOptions = {}): Promise<TreeUsage> {
    if (this.#faults.hangs) await this.#faults.released('readdir', path);
    const { node } = this.#enter('readdir', path);
    if (node.kind !== 'directory') throw systemError('ENOTDIR', 'du', path);
    const totalBytes = Number.isFinite(this.limitBytes) ? this.limitBytes : Number.MAX_SAFE_INTEGER;
    const freeBytes = Math.max(totalBytes - this.usedBytes, 0);
    const fileSystem = { totalBytes, freeBytes, availableBytes: freeBytes, inodes: 0, freeInodes: 0 };
    return { ...this.#tree.usage(node, maxEntries), fileSystem };
  }

  async giveToGroup(path: string, gid: number): Promise<GivenTree> {
    if (this.#faults.hangs) await this.#faults.released('chown', path);
    const { node } = this.#enter('chown', path);
    if (node.kind !== 'directory') throw systemError('ENOTDIR', 'chown', path);
    return { entries: this.#tree.giveToGroup(node, gid), failed: 0, failure: '' };
  }

  async watch(path: string, onChange: OnChange, signal: AbortSignal): Promise<void> {
    if (this.#faults.hangs) await this.#faults.released('watch', path);
    await this.#tree.watchers.watch(this.#enter('watch', path).node, path, onChange, signal);
  }

  async #removeTree(path: string): Promise<void> {
    const found = this.#tree.existing(path, false, 'rm');
    if (found.node.kind === 'directory') {
      if (this.#tree.isMountPoint(found.parent, found.name))
        throw systemError('EBUSY', 'rmdir', path, 'it is a mount point');
      const failures: unknown[] = [];
      for (const { name } of await this.readdir(path)) {
        await this.#removeTree(`${path}/${name}`).catch((error: unknown) => failures.push(error));
      }
      if (failures.length > 0) throw failures[0];
    }
    await this.remove(path);
  }

  #walkRules(root: Found, links: MemoryWalkRules['links']): MemoryWalkRules {
    const isMountPoint = (parent: DirectoryNode, name: string): boolean => this.#tree.isMountPoint(parent, name);
    return { links, isMountPoint, realDirectory: root.realPath };
  }

  /** Starts one operation on the node at `path`. */
  #enter(operation: FileOperation, path: string, follow = true): Found {
    this.#faults.check(operation, path);
    return this.#tree.existing(path, follow, operation);
  }

  /** Resolves a path that must not exist yet. @throws EEXIST */
  #free(path: string, syscall: string): Resolved {
    const found = this.#tree.lookUp(path, false, syscall);
    if (found.node !== undefined) throw systemError('EEXIST', syscall, path);
    return found;
  }

  #fill(at: Resolved, file: FileNode, data: string | Uint8Array, mode: number | undefined): void {
    if (mode !== undefined) file.mode = mode & 0o7777;
    this.#faults.check('write', at.realPath);
    this.#tree.append(at, file, typeof data === 'string' ? new TextEncoder().encode(data) : data);
  }

  #sync(path: string, file: FileNode): void {
    this.#faults.check('sync', path);
    syncFile(file);
  }
}
