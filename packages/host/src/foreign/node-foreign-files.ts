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

/** {@link ForeignFiles} of this machine, through helper processes of this package's own. */
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

/** At once: by threads it would be asked for page by page, and a node with a hundred pods has forty of them. */
function readMountInfo(): string {
  return onLinux ? nodeKernelFiles.readFile('/proc/self/mountinfo') : '';
}
