import { errorCode, type FileSystem, isMissing } from '@node-agent/host';
import { readWords } from './hierarchy.ts';

/** The directories below one, by name; none where it is not there. */
export async function subgroups(fs: Pick<FileSystem, 'readdir'>, directory: string): Promise<readonly string[]> {
  try {
    const entries = await fs.readdir(directory);
    return entries.flatMap(({ name, kind }) => (kind === 'directory' ? [name] : []));
  } catch (err) {
    if (isMissing(err)) return [];
    throw err;
  }
}

/** A group's directory and all below it, parents first; none where it is not there. */
export async function groupTree(fs: Pick<FileSystem, 'readdir' | 'exists'>, directory: string): Promise<string[]> {
  if (!(await fs.exists(directory))) return [];
  const tree = [directory];
  for (const parent of tree) {
    for (const name of await subgroups(fs, parent)) tree.push(`${parent}/${name}`);
  }
  return tree;
}

/**
 * The processes of a group. One of another pid namespace shows as 0, which to kill(2) means oneself: it is left out, as is
 * the first process of all.
 */
export async function groupProcesses(fs: Pick<FileSystem, 'readFile'>, directory: string): Promise<readonly number[]> {
  try {
    return (await readWords(fs, `${directory}/cgroup.procs`)).map(Number).filter((pid) => pid > 1);
  } catch (err) {
    // A group that went away has no processes; one in threaded mode does not tell them (ENOTSUP).
    if (isMissing(err) || ['ENODEV', 'ENOTSUP', 'EOPNOTSUPP'].includes(errorCode(err) ?? '')) return [];
    throw err;
  }
}
