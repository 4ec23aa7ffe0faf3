import { closeSync, openSync, statSync } from 'node:fs';
import { systemPath } from './byte-names.ts';
import type { FileSystem } from './file-system.ts';
import { nodeKernelFiles } from './kernel-files.ts';
import { nodeFileSystem } from './node-file-system.ts';
import { writeDescriptor } from './write-descriptor.ts';

/**
 * The machine's files, for directories that the kernel serves from memory (cgroups). Reads are synchronous, as in
 * `nodeKernelFiles`. Writes may make the kernel work for long and use the thread pool.
 */
export const kernelFileSystem: FileSystem = {
  ...nodeFileSystem,
  readFile: async (path) => Buffer.from(nodeKernelFiles.readFile(path), 'latin1'),
  async writeFile(path, data, options) {
    if (options?.mode !== undefined) return await nodeFileSystem.writeFile(path, data, options);
    const fd = openSync(systemPath(path), 'w');
    try {
      await writeDescriptor(fd, data);
    } finally {
      closeSync(fd);
    }
  },
  stat: async (path) => nodeKernelFiles.stat(path),
  exists: async (path) => statSync(systemPath(path), { throwIfNoEntry: false }) !== undefined,
};
