import { statSync } from 'node:fs';
import { systemPath } from './byte-names.ts';
import { statOf } from './file-stat.ts';
import type { FileSystem } from './file-system.ts';
import { readKernelFile } from './kernel-file.ts';
import { nodeFileSystem } from './node-file-system.ts';
import { isThere } from './system-error.ts';

/**
 * The machine's files, for directories that the kernel makes from its own memory (cgroups): what is there, and what is in it, is
 * looked up at once, as `readKernelFile` does. What is written may make the kernel work, and goes through threads.
 */
export const kernelFileSystem: FileSystem = {
  ...nodeFileSystem,
  readFile: async (path) => Buffer.from(readKernelFile(path), 'latin1'),
  stat: async (path) => statOf(statSync(systemPath(path))),
  exists: (path) => isThere(() => statSync(systemPath(path))),
};
