import type { Clock } from '@node-agent/async';
import { systemError } from '../system-error.ts';
import type { OpenPlace } from './memory-file-handle.ts';
import {
  appendTo,
  type DirectoryNode,
  type FileNode,
  type MemoryNode,
  NO_BYTES,
  type NodeAttributes,
  type SpecialNode,
  setName,
  syncNames,
  usedBytes,
} from './nodes.ts';
import { isTooLong, type Resolved, resolvePath } from './resolve.ts';
import { Watchers } from './watchers.ts';

const UMASK = 0o022;
const BLOCK_BYTES = 4096;

/** A path that exists. */
export interface Found extends Resolved {
  readonly node: MemoryNode;
}

/** The nodes of a memory file system and their operations. Each change sets timestamps and triggers the watches. */
export class MemoryTree {
  readonly root: DirectoryNode;
  readonly watchers: Watchers = new Watchers();
  limitBytes: number;
  readonly #clock: Pick<Clock, 'now'>;
  /** Nodes hidden by mounts, by directory and name; the first mount's node comes first. */
  readonly #hidden = new Map<DirectoryNode, Map<string, MemoryNode[]>>();
  #lastInode = 1;
  #lastDevice = 1;

  constructor(clock: Pick<Clock, 'now'>, limitBytes: number) {
    this.#clock = clock;
    this.limitBytes = limitBytes;
    this.root = this.#newDirectory(1, 0o755);
  }

  lookUp(path: string, follow: boolean, syscall: string): Resolved {
    return resolvePath(this.root, path, follow, syscall);
  }

  /** Resolves a path that must exist. @throws ENOENT */
  existing(path: string, follow: boolean, syscall: string): Found {
    const found = this.lookUp(path, follow, syscall);
    if (!isFound(found)) throw systemError('ENOENT', syscall, path);
    return found;
  }

  createFile(at: Resolved, mode: number | undefined): FileNode {
    const file: FileNode = {
      kind: 'file',
      buffer: NO_BYTES,
      sizeBytes: 0,
      synced: NO_BYTES,
      ...this.#attributes(at.parent.device, mode ?? 0o666 & ~UMASK),
    };
    this.link(at.parent, at.name, file);
    return file;
  }

  createDirectoryIn(parent: DirectoryNode, name: string, mode: number): DirectoryNode {
    const directory = this.#newDirectory(parent.device, mode);
    this.link(parent, name, directory);
    syncNames(parent, name);
    return directory;
  }

  /**
   * Creates each missing directory as mkdir(2) does; an existing directory is unchanged. @throws the errors that Node
   * throws
   */
  makeDirectories(path: string, mode: number | undefined): void {
    const names = path.split('/').filter((name) => name !== '');
    /** The directory that the names so far have led to. */
    let parent = this.root;
    for (const [index, name] of names.entries()) {
      const isLast = index === names.length - 1;
      const ownMode = isLast || mode === undefined ? mode : mode & ~UMASK;
      const node = name === '.' || name === '..' || isTooLong(name) ? 'walk' : parent.entries.get(name);
      if (node === undefined) parent = this.createDirectoryIn(parent, name, ownMode ?? 0o777 & ~UMASK);
      else if (node !== 'walk' && node.kind === 'directory') parent = node;
      else parent = this.#directoryAt(`/${names.slice(0, index + 1).join('/')}`, path, isLast);
    }
  }

  createLink(at: Resolved, target: string): void {
    this.link(at.parent, at.name, { kind: 'symlink', target, ...this.#attributes(at.parent.device, 0o777) });
  }

  createSpecial(at: Resolved, kind: SpecialNode['kind'], mode: number): void {
    this.link(at.parent, at.name, { kind, ...this.#attributes(at.parent.device, mode) });
  }

  /** Sets `name` to `node`, replacing the previous node. */
  link(parent: DirectoryNode, name: string, node: MemoryNode): void {
    const before = parent.entries.get(name);
    setName(parent, name, node);
    if (before !== undefined) this.watchers.gone(before);
    this.#touch(parent);
    this.watchers.changed(parent, name, 'entry');
  }

  unlink(parent: DirectoryNode, name: string): void {
    const before = parent.entries.get(name);
    setName(parent, name, undefined);
    if (before?.kind === 'directory') syncNames(parent, name);
    if (before !== undefined) this.watchers.gone(before);
    this.#touch(parent);
    this.watchers.changed(parent, name, 'entry');
  }

  /** Appends as much of `data` as fits. @throws ENOSPC if not all fits */
  append(at: OpenPlace, file: FileNode, data: Uint8Array): void {
    const room = this.#room();
    appendTo(file, data.length <= room ? data : data.subarray(0, room));
    this.touchFile(at, file);
    if (data.length > room) throw systemError('ENOSPC', 'write', at.realPath);
  }

  touchFile(at: OpenPlace, file: MemoryNode): void {
    this.#touch(file);
    this.watchers.changed(file, at.name, 'content');
    this.watchers.changed(at.parent, at.name, 'content');
  }

  mount(found: Found): void {
    if (found.node.kind !== 'directory') throw systemError('ENOTDIR', 'mount', found.realPath);
    this.#cover(found, this.#newDirectory(++this.#lastDevice, 0o755));
  }

  bind(node: MemoryNode, found: Found): void {
    if ((node.kind === 'directory') !== (found.node.kind === 'directory')) {
      throw systemError('ENOTDIR', 'mount', found.realPath);
    }
    this.#cover(found, node);
  }

  unmount({ parent, name, realPath }: Found): void {
    const hidden = this.#hidden.get(parent)?.get(name);
    const below = hidden?.pop();
    if (hidden === undefined || below === undefined) throw systemError('EINVAL', 'umount', realPath);
    if (hidden.length === 0) this.#hidden.get(parent)?.delete(name);
    this.#show(parent, name, below);
  }

  /** Returns whether the name is a mount point. */
  isMountPoint(parent: DirectoryNode, name: string): boolean {
    return this.#hidden.get(parent)?.has(name) ?? false;
  }

  /** Returns the usage below a directory: whole blocks for files, nothing for directories. */
  usage(directory: DirectoryNode, maxEntries: number): { bytes: number; inodes: number; complete: boolean } {
    let bytes = 0;
    let inodes = 1;
    const pending = [directory];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      for (const [name, node] of next.entries) {
        if (this.isMountPoint(next, name)) continue;
        if (inodes > maxEntries) return { bytes, inodes, complete: false };
        inodes++;
        if (node.kind === 'file') bytes += Math.ceil(node.sizeBytes / BLOCK_BYTES) * BLOCK_BYTES;
        if (node.kind === 'directory') pending.push(node);
      }
    }
    return { bytes, inodes, complete: true };
  }

  /** Gives a directory with everything below it to a group. @returns the number of changed nodes */
  giveToGroup(directory: DirectoryNode, gid: number): number {
    let count = 0;
    const pending: MemoryNode[] = [directory];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      count++;
      next.gid = gid;
      if (next.kind !== 'symlink') next.mode |= next.kind === 'directory' ? 0o2770 : 0o660;
      if (next.kind !== 'directory') continue;
      for (const [name, node] of next.entries) if (!this.isMountPoint(next, name)) pending.push(node);
    }
    return count;
  }

  /** Returns the directory at a path, following symlinks. @throws Node's error if the path is not a directory */
  #directoryAt(at: string, whole: string, isLast: boolean): DirectoryNode {
    const { node } = this.lookUp(at, true, 'mkdir');
    if (node === undefined) {
      // The name is a dangling symlink: Node reports ENOENT for its target.
      throw systemError('ENOENT', 'mkdir', whole);
    }
    if (node.kind !== 'directory') throw systemError(isLast ? 'EEXIST' : 'ENOTDIR', 'mkdir', whole);
    return node;
  }

  #cover({ parent, name, node: hidden }: Found, node: MemoryNode): void {
    const ofParent = this.#hidden.get(parent) ?? new Map<string, MemoryNode[]>();
    this.#hidden.set(parent, ofParent.set(name, [...(ofParent.get(name) ?? []), hidden]));
    this.#show(parent, name, node);
  }

  /**
   * A mount does not modify its directory: it changes no timestamp, triggers no watch, and survives a simulated power
   * loss.
   */
  #show(parent: DirectoryNode, name: string, node: MemoryNode): void {
    setName(parent, name, node);
    syncNames(parent, name);
  }

  #touch(node: MemoryNode): void {
    node.modifiedAtMs = this.#clock.now();
  }

  #room(): number {
    return this.limitBytes === Number.POSITIVE_INFINITY
      ? this.limitBytes
      : Math.max(this.limitBytes - usedBytes(this.root), 0);
  }

  #newDirectory(device: number, mode: number): DirectoryNode {
    return { kind: 'directory', entries: new Map(), unsynced: undefined, ...this.#attributes(device, mode) };
  }

  #attributes(device: number, mode: number): NodeAttributes {
    return { inode: ++this.#lastInode, device, mode, uid: 0, gid: 0, modifiedAtMs: this.#clock.now() };
  }
}

function isFound(resolved: Resolved): resolved is Found {
  return resolved.node !== undefined;
}
