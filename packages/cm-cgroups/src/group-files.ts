import { errorCode, type FileSystem, isMissing } from '@node-agent/host';
import { readWords } from './hierarchy.ts';

/** Returns the names of a directory's subdirectories; empty if the directory does not exist. */
export async function subgroups(fs: Pick<FileSystem, 'readdir'>, directory: string): Promise<readonly string[]> {
  try {
    const entries = await fs.readdir(directory);
    return entries.flatMap(({ name, kind }) => (kind === 'directory' ? [name] : []));
  } catch (err) {
    if (isMissing(err)) return [];
    throw err;
  }
}

/** Returns a cgroup's directory and all directories below it, parents first; empty if it does not exist. */
export async function groupTree(fs: Pick<FileSystem, 'readdir' | 'exists'>, directory: string): Promise<string[]> {
  if (!(await fs.exists(directory))) return [];
  const tree = [directory];
  for (const parent of tree) {
    for (const name of await subgroups(fs, parent)) tree.push(`${parent}/${name}`);
  }
  return tree;
}

/**
 * Returns the processes of a cgroup. A process of another pid namespace appears as 0, which kill(2) interprets as the
 * caller's own process group, so 0 is left out, as is process 1.
 */
export async function groupProcesses(fs: Pick<FileSystem, 'readFile'>, directory: string): Promise<readonly number[]> {
  try {
    return (await readWords(fs, `${directory}/cgroup.procs`)).map(Number).filter((pid) => pid > 1);
  } catch (err) {
    // A removed cgroup has no processes; a threaded cgroup cannot list them (ENOTSUP).
    if (isMissing(err) || ['ENODEV', 'ENOTSUP', 'EOPNOTSUPP'].includes(errorCode(err) ?? '')) return [];
    throw err;
  }
}
