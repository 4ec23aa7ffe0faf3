import { basename, dirname, join } from 'node:path';
import { errorCode } from './system-error.ts';

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

/** Whether a file of this name is one that `writeFileAtomic` has not finished, or was killed over. */
export function isTemporaryName(name: string): boolean {
  return name.startsWith(TEMPORARY_PREFIX);
}

let serial = 0;

/**
 * Replaces `path` so that a reader, and a machine that crashed at any instant, sees the old or the new content.
 * Whatever fails, the temporary file is gone afterwards, unless the process died.
 */
export async function writeAtomically(steps: AtomicWriteSteps, path: string, owner: number): Promise<void> {
  const directory = dirname(path);
  // A link at `path` is replaced, not followed: the name that the caller gave is what changes.
  for (;;) {
    const temporary = join(directory, `${TEMPORARY_PREFIX}${owner}-${serial++}`);
    try {
      await steps.createSynced(temporary);
    } catch (error) {
      // Left by a process of the same id that was killed, maybe before a reboot: take the next name.
      if (errorCode(error) === 'EEXIST') continue;
      await discard(steps, temporary, error);
    }
    try {
      await steps.rename(temporary, join(directory, basename(path)));
    } catch (error) {
      await discard(steps, temporary, error);
    }
    await steps.syncDirectory(directory);
    return;
  }
}

/** Removes the temporary file and throws `cause`; what the removal says is of no use beside it. */
async function discard(steps: AtomicWriteSteps, temporary: string, cause: unknown): Promise<never> {
  await steps.remove(temporary).catch(() => undefined);
  throw cause;
}
