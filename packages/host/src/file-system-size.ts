import { statfs } from 'node:fs/promises';
import { systemPath } from './byte-names.ts';
import type { FileSystemSize } from './helper/protocol.ts';

/** How large the file system is that a path is on, as `statfs(2)` tells it. @throws ENOENT, and what the kernel says */
export async function fileSystemSize(path: string): Promise<FileSystemSize> {
  const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(systemPath(path));
  const bytes = { totalBytes: bsize * blocks, freeBytes: bsize * bfree, availableBytes: bsize * bavail };
  return { ...bytes, inodes: files, freeInodes: ffree };
}
