import { basename, dirname, join } from 'node:path';
import type { FileSystem } from './file-system.ts';
import { errorCode, isMissing } from './system-error.ts';

/** The steps of an atomic write, each of which a crash may follow. */
export interface AtomicWriteSteps {
  /** Makes a new file with all of its content, syncs it. @throws EEXIST where the name is taken */
  createSynced(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Makes the names in a directory last. */
  syncDirectory(path: string): Promise<void>;
  remove(path: string): Promise<void>;
}

const TEMPORARY_PREFIX = '.tmp-';

/**
 * Removes from a directory what `writeFileAtomic` of processes that were killed has left in it; what this process is writing stays. No
 * error where there is no such directory.
 */
export async function removeUnfinishedFiles(
  fs: Pick<FileSystem, 'readdir' | 'remove'>,
  directory: string,
): Promise<void> {
  try {
    for (const { name, kind } of await fs.readdir(directory)) {
      const path = join(directory, name);
      if (kind === 'file' && name.startsWith(TEMPORARY_PREFIX) && !underWay.has(path)) await fs.remove(path);
    }
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

let serial = 0;
/** The temporary files of this process that are being written. */
const underWay = new Set<string>();

/**
 * Replaces `path` so that a reader, and a machine that crashed at any instant, sees the old or the new content.
 * Whatever fails, the temporary file is gone afterwards, unless the process died.
 */
export async function writeAtomically(steps: AtomicWriteSteps, path: string, owner: number): Promise<void> {
  const directory = dirname(path);
  for (;;) {
    const temporary = join(directory, `${TEMPORARY_PREFIX}${owner}-${serial++}`);
    underWay.add(temporary);
    let isCreated = false;
    try {
      await steps.createSynced(temporary);
      isCreated = true;
      // A link at `path` is replaced, not followed: the name that the caller gave is what changes.
      await steps.rename(temporary, join(directory, basename(path)));
    } catch (error) {
      // Left by a process of the same id that was killed, maybe before a reboot: take the next name.
      if (!isCreated && errorCode(error) === 'EEXIST') continue;
      // What the removal says is of no use beside the error.
      await steps.remove(temporary).catch(() => undefined);
      throw error;
    } finally {
      underWay.delete(temporary);
    }
    await steps.syncDirectory(directory);
    return;
  }
}
