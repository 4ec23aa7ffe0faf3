import { statfs } from 'node:fs/promises';
import { systemPath } from './byte-names.ts';
import type { FileSystemSize } from './helper/protocol.ts';

/** Returns the size of the file system that holds a path, from `statfs(2)`. @throws ENOENT and other kernel errors */
export async function fileSystemSize(path: string): Promise<FileSystemSize> {
  const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(systemPath(path));
  const bytes = { totalBytes: bsize * blocks, freeBytes: bsize * bfree, availableBytes: bsize * bavail };
  return { ...bytes, inodes: files, freeInodes: ffree };
}
