import type { FileSystem } from './file-system.ts';
import { nodeKernelFiles } from './kernel-files.ts';
import { nodeFileSystem } from './node-file-system.ts';
import { isThere } from './system-error.ts';

/**
 * The machine's files, for directories that the kernel makes from its own memory (cgroups): what is there, and what is in it, is
 * looked up at once, as `nodeKernelFiles` does. What is written may make the kernel work, and goes through threads.
 */
export const kernelFileSystem: FileSystem = {
  ...nodeFileSystem,
  readFile: async (path) => Buffer.from(nodeKernelFiles.readFile(path), 'latin1'),
  stat: async (path) => nodeKernelFiles.stat(path),
  exists: (path) => isThere(() => nodeKernelFiles.stat(path)),
};
