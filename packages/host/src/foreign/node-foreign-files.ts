import { readFile } from 'node:fs/promises';
import type { Clock } from '@node-agent/async';
import { startHelper } from '../helper/helper-process.ts';
import { onLinux } from '../mount-id.ts';
import type { ForeignFiles } from './foreign-files.ts';
import { GuardedFiles, type GuardedFilesOptions } from './guarded-files.ts';
import { mountPointsOf } from './mount-points.ts';

/** {@link ForeignFiles} of this machine, through helper processes of this package's own. */
export function nodeForeignFiles(
  components: { readonly clock: Pick<Clock, 'monotonic' | 'setTimer'> },
  options?: GuardedFilesOptions,
): ForeignFiles {
  const mountPoints = async (): Promise<readonly string[]> =>
    onLinux ? mountPointsOf(await readFile('/proc/self/mountinfo', 'latin1')) : [];
  return new GuardedFiles({ ...components, startHelper: () => startHelper(), mountPoints }, options);
}
