import { stat } from 'node:fs/promises';

/**
 * Checks that only root can change a directory whose files this command, as root, believes: process IDs that it ends,
 * paths that it removes and programs that it runs.
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
