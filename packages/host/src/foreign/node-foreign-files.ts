import { readFile, readlink } from 'node:fs/promises';
import type { Clock } from '@node-agent/async';
import { systemPath, textOfBytes } from '../byte-names.ts';
import { fileSystemSize } from '../file-system-size.ts';
import { startHelper } from '../helper/helper-process.ts';
import { onLinux } from '../mount-id.ts';
import { errorCode } from '../system-error.ts';
import type { ForeignFiles } from './foreign-files.ts';
import { GuardedFiles, type GuardedFilesOptions, type KernelServedFiles } from './guarded-files.ts';
import { MountTable, parseMounts } from './mount-table.ts';

/** {@link ForeignFiles} of this machine, through helper processes of this package's own. */
export function nodeForeignFiles(
  components: { readonly clock: Pick<Clock, 'monotonic' | 'setTimer'> },
  options?: GuardedFilesOptions,
): ForeignFiles {
  return new GuardedFiles(
    { ...components, startHelper: () => startHelper(), mounts: readMounts, here: kernelFiles },
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

let reading: Promise<MountTable> | undefined;
/** What was read last, and made of it: a table of thousands takes long to make, and changes seldom. */
let newest: { readonly text: string; readonly table: MountTable } | undefined;

/** Calls that come together share one reading: a node mounts thousands. */
function readMounts(): Promise<MountTable> {
  reading ??= readTable().finally(() => {
    reading = undefined;
  });
  return reading;
}

async function readTable(): Promise<MountTable> {
  const text = onLinux ? await readFile('/proc/self/mountinfo', 'latin1') : '';
  if (newest?.text !== text) newest = { text, table: new MountTable(parseMounts(text)) };
  return newest.table;
}
