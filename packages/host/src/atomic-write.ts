import { basename, dirname, join } from 'node:path';
import type { AtomicWriteOptions, FileSystem } from './file-system.ts';
import { errorCode, isMissing } from './system-error.ts';

/** The steps of an atomic write. A crash may happen after each step. */
export interface AtomicWriteSteps {
  /** Creates a new file with its whole content and syncs it. @throws EEXIST if the name is in use */
  createSynced(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Makes the names in a directory durable. */
  syncDirectory(path: string): Promise<void>;
  remove(path: string): Promise<void>;
}

const TEMPORARY_PREFIX = '.tmp-';

/**
 * Removes the temporary files that `writeFileAtomic` of killed processes left in a directory. Files that this process
 * is writing stay. A missing directory is not an error.
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
/** Temporary files that this process is writing. */
const underWay = new Set<string>();

/**
 * Replaces `path` so that readers see the old or the new content, even after a crash at any time. The temporary file is
 * removed on any failure unless the process dies.
 */
export async function writeAtomically(
  steps: AtomicWriteSteps,
  path: string,
  owner: number,
  { onReplaced = () => {} }: Pick<AtomicWriteOptions, 'onReplaced'> = {},
): Promise<void> {
  const directory = dirname(path);
  for (;;) {
    const temporary = join(directory, `${TEMPORARY_PREFIX}${owner}-${serial++}`);
    underWay.add(temporary);
    let isCreated = false;
    try {
      await steps.createSynced(temporary);
      isCreated = true;
      // A symlink at `path` is replaced, not followed: the caller's name is what changes.
      await steps.rename(temporary, join(directory, basename(path)));
    } catch (error) {
      // A killed process with the same ID left this file, possibly before a reboot: try the next name.
      if (!isCreated && errorCode(error) === 'EEXIST') continue;
      // The error of the removal is dropped in favour of the original error.
      await steps.remove(temporary).catch(() => undefined);
      throw error;
    } finally {
      underWay.delete(temporary);
    }
    onReplaced();
    await steps.syncDirectory(directory);
    return;
  }
}
