import type { FileKind, FileStat } from '../file-system.ts';

/** What every node of a {@link MemoryFileSystem} has. */
export interface NodeAttributes {
  readonly inode: number;
  readonly device: number;
  mode: number;
  uid: number;
  gid: number;
  modifiedAtMs: number;
}

/** A file, with what a power loss would leave of it. */
export interface FileNode extends NodeAttributes {
  readonly kind: 'file';
  /** Room for the content; the first `sizeBytes` of it count. */
  buffer: Uint8Array;
  sizeBytes: number;
  synced: Uint8Array;
}

/** A directory, with the names that a power loss would leave. */
export interface DirectoryNode extends NodeAttributes {
  readonly kind: 'directory';
  readonly entries: Map<string, MemoryNode>;
  readonly synced: Map<string, MemoryNode>;
}

interface LinkNode extends NodeAttributes {
  readonly kind: 'symlink';
  readonly target: string;
}

/** A socket, fifo or device: it is there, and holds nothing. */
export interface SpecialNode extends NodeAttributes {
  readonly kind: Exclude<FileKind, 'file' | 'directory' | 'symlink'>;
}

export type MemoryNode = FileNode | DirectoryNode | LinkNode | SpecialNode;

/** The file's content; it shares memory with the file. */
export function contentOf(node: FileNode): Uint8Array {
  return node.buffer.subarray(0, node.sizeBytes);
}

/** Adds `data` at the end, in amortised constant time. */
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

/** Bytes that the node and all below it take. */
export function usedBytes(root: MemoryNode): number {
  // What is mounted at several places is there once.
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

/** Puts the node and all below it back to what was synced. */
export function forgetUnsynced(node: MemoryNode): void {
  if (node.kind === 'file') {
    node.buffer = node.synced.slice();
    node.sizeBytes = node.buffer.length;
  } else if (node.kind === 'directory') {
    node.entries.clear();
    for (const [name, child] of node.synced) {
      node.entries.set(name, child);
      forgetUnsynced(child);
    }
  }
}

export function statOfNode(node: MemoryNode): FileStat {
  return {
    kind: node.kind,
    sizeBytes: node.kind === 'file' ? node.sizeBytes : node.kind === 'symlink' ? node.target.length : 0,
    // Whole blocks of 4 KiB, as most file systems have.
    allocatedBytes: node.kind === 'file' ? Math.ceil(node.sizeBytes / 4096) * 4096 : 0,
    mode: node.mode,
    uid: node.uid,
    gid: node.gid,
    modifiedAtMs: node.modifiedAtMs,
    inode: node.inode,
    device: node.device,
  };
}
