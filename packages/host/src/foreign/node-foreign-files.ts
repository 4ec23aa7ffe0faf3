import { readlink } from 'node:fs/promises';
import type { Clock } from '@node-agent/async';
import { systemPath, textOfBytes } from '../byte-names.ts';
import { fileSystemSize } from '../file-system-size.ts';
import { startHelper } from '../helper/helper-process.ts';
import { nodeKernelFiles } from '../kernel-files.ts';
import { onLinux } from '../mount-id.ts';
import { errorCode } from '../system-error.ts';
import type { ForeignFiles } from './foreign-files.ts';
import { GuardedFiles, type GuardedFilesOptions, type KernelServedFiles } from './guarded-files.ts';
import { sharedMountTable } from './shared-mount-table.ts';

/** Returns {@link ForeignFiles} of this machine that use this package's helper processes. */
export function nodeForeignFiles(
  components: { readonly clock: Pick<Clock, 'monotonic' | 'setTimer'> },
  options?: GuardedFilesOptions,
): ForeignFiles {
  return new GuardedFiles(
    {
      ...components,
      startHelper: () => startHelper(),
      mounts: sharedMountTable({ ...components, readText: readMountInfo }),
      here: kernelFiles,
    },
    options,
  );
}

const kernelFiles: KernelServedFiles = {
  statfs: fileSystemSize,
  async readLink(path) {
    try {
      return textOfBytes(await readlink(systemPath(path), { encoding: 'buffer' }));
    } catch (error) {
      if (errorCode(error) === 'EINVAL') return undefined;
      throw error;
    }
  },
};

/**
 * Reads synchronously: the thread pool would read page by page, and the table of a node with a hundred pods has forty
 * pages.
 */
function readMountInfo(): string {
  return onLinux ? nodeKernelFiles.readFile('/proc/self/mountinfo') : '';
}
