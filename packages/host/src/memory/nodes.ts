import type { FileKind, FileStat } from '../file-system.ts';

/** Attributes of every node of a {@link MemoryFileSystem}. */
export interface NodeAttributes {
  readonly inode: number;
  readonly device: number;
  mode: number;
  uid: number;
  gid: number;
  modifiedAtMs: number;
}

/** A file, with the content that would survive a power loss. */
export interface FileNode extends NodeAttributes {
  readonly kind: 'file';
  /**
   * Buffer whose first `sizeBytes` bytes are the content. These bytes are never changed, because {@link truncate}
   * replaces the buffer, so `synced` can share the buffer.
   */
  buffer: Uint8Array;
  sizeBytes: number;
  synced: Uint8Array;
}

/** Content of an empty file. */
export const NO_BYTES: Uint8Array = new Uint8Array(0);

/** A directory, with the names that would survive a power loss. */
export interface DirectoryNode extends NodeAttributes {
  readonly kind: 'directory';
  readonly entries: Map<string, MemoryNode>;
  /**
   * Names that a power loss would change, with the node of each name after a power loss, or `undefined` if the name
   * would no longer exist. Absent if a power loss would change nothing.
   */
  unsynced: Map<string, MemoryNode | undefined> | undefined;
}

interface LinkNode extends NodeAttributes {
  readonly kind: 'symlink';
  readonly target: string;
}

/** A socket, FIFO or device: it exists but has no content. */
export interface SpecialNode extends NodeAttributes {
  readonly kind: Exclude<FileKind, 'file' | 'directory' | 'symlink'>;
}

export type MemoryNode = FileNode | DirectoryNode | LinkNode | SpecialNode;

/** Returns the file's content, which shares memory with the file. */
export function contentOf(node: FileNode): Uint8Array {
  return node.buffer.subarray(0, node.sizeBytes);
}

/** Appends `data` in amortised constant time. */
export function appendTo(node: FileNode, data: Uint8Array): void {
  const sizeBytes = node.sizeBytes + data.length;
  if (sizeBytes > node.buffer.length) {
    const larger = new Uint8Array(Math.max(sizeBytes, node.buffer.length * 2));
    larger.set(contentOf(node));
    node.buffer = larger;
  }
  node.buffer.set(data, node.sizeBytes);
  node.sizeBytes = sizeBytes;
}

/** Removes the content. */
export function truncate(node: FileNode): void {
  node.buffer = NO_BYTES;
  node.sizeBytes = 0;
}

/** Makes the current content survive a power loss. */
export function syncFile(node: FileNode): void {
  node.synced = contentOf(node);
}

/** Sets or removes a name. A simulated power loss undoes the change until the name is synced. */
export function setName(directory: DirectoryNode, name: string, node: MemoryNode | undefined): void {
  directory.unsynced ??= new Map();
  if (!directory.unsynced.has(name)) directory.unsynced.set(name, directory.entries.get(name));
  put(directory.entries, name, node);
  if (directory.unsynced.get(name) === node) syncNames(directory, name);
}

/** Makes the current node of a name, or of all names, survive a power loss. */
export function syncNames(directory: DirectoryNode, name?: string): void {
  if (name !== undefined) directory.unsynced?.delete(name);
  if (name === undefined || directory.unsynced?.size === 0) directory.unsynced = undefined;
}

function put(entries: Map<string, MemoryNode>, name: string, node: MemoryNode | undefined): void {
  if (node === undefined) entries.delete(name);
  else entries.set(name, node);
}

/** Returns the bytes of content of the node and everything below it. */
export function usedBytes(root: MemoryNode): number {
  // A node mounted at several places counts once.
  const seen = new Set<MemoryNode>();
  const bytesOf = (node: MemoryNode): number => {
    if (seen.has(node)) return 0;
    seen.add(node);
    if (node.kind === 'file') return node.sizeBytes;
    if (node.kind === 'symlink') return node.target.length;
    if (node.kind !== 'directory') return 0;
    let sum = 0;
    for (const child of node.entries.values()) sum += bytesOf(child);
    return sum;
  };
  return bytesOf(root);
}

/** Resets the node and everything below it to the synced state. */
export function forgetUnsynced(node: MemoryNode): void {
  if (node.kind === 'file') {
    // The buffer is a copy, because the shared buffer may have room after the synced bytes, which the next append would
    // fill.
    node.buffer = node.synced.slice();
    node.sizeBytes = node.buffer.length;
  } else if (node.kind === 'directory') {
    for (const [name, child] of node.unsynced ?? []) put(node.entries, name, child);
    node.unsynced = undefined;
    for (const child of node.entries.values()) forgetUnsynced(child);
  }
}

export function statOfNode(node: MemoryNode): FileStat {
  return {
    kind: node.kind,
    sizeBytes: node.kind === 'file' ? node.sizeBytes : node.kind === 'symlink' ? node.target.length : 0,
    // Files are allocated in whole blocks of 4 KiB, as in most file systems.
    allocatedBytes: node.kind === 'file' ? Math.ceil(node.sizeBytes / 4096) * 4096 : 0,
    mode: node.mode,
    uid: node.uid,
    gid: node.gid,
    modifiedAtMs: node.modifiedAtMs,
    inode: node.inode,
    device: node.device,
  };
}
