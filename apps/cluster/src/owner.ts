import { stat } from 'node:fs/promises';

/**
 * Checks that only root can change a directory whose files this command trusts while it runs as root: process IDs to
 * end, paths to remove and programs to run.
 * @throws Error naming the directory
 */
export async function checkOwner(directory: string): Promise<void> {
  const { uid, mode } = await stat(directory);
  const problem = ownerProblem({ uid, mode });
  if (problem !== undefined) throw new Error(`${directory}: ${problem}`);
}

/** Returns why other users can change a directory, or `undefined`. */
export function ownerProblem({ uid, mode }: { readonly uid: number; readonly mode: number }): string | undefined {
  if (uid !== 0) return 'must belong to root';
  return (mode & 0o022) === 0 ? undefined : 'must not be writable by other users';
}
