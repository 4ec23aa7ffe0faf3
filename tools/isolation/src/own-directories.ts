import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './run.ts';

/** Creates the missing mount points for directories. @returns the created paths */
export async function makeMountPoints(directories: readonly string[]): Promise<readonly string[]> {
  const made: string[] = [];
  for (const path of directories) {
    // `mkdir` returns the first directory that it had to create.
    const first = await mkdir(path, { recursive: true });
    if (first !== undefined) made.push(path);
  }
  return made;
}

/**
 * Mounts an own directory on each of these paths. The caller must be in a mount namespace of its own, and the mount
 * points must exist.
 * @param parent directory in which the own directories are created, each with its full path
 */
export async function bindOwnDirectories(directories: readonly string[], parent: string): Promise<void> {
  for (const path of directories) {
    const own = join(parent, path);
    await mkdir(own, { recursive: true });
    await run('mount', ['--bind', own, path]);
  }
}
