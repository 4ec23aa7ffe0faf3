import { join } from 'node:path';
import type { Random } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';

/**
 * Returns the directory of a container's own files; with an empty `containerName`, that of all containers of the pod.
 */
export function containerFilesPath(rootDirectory: string, podUid: string, containerName: string): string {
  return join(rootDirectory, 'pods', podUid, 'containers', containerName || '/');
}

/**
 * Creates the file that receives a container's termination message: `<root>/pods/<uid>/containers/<name>/<random>`,
 * writable by any user. Every attempt gets its own file.
 * @throws the errors of the file system
 */
export async function createTerminationMessageFile(
  fs: Pick<FileSystem, 'mkdir' | 'writeFile'>,
  random: Random,
  rootDirectory: string,
  podUid: string,
  containerName: string,
): Promise<string> {
  const directory = containerFilesPath(rootDirectory, podUid, containerName);
  await fs.mkdir(directory, { mode: 0o750 });
  const name = Math.floor(random.next() * 2 ** 32).toString(16);
  const path = join(directory, name.padStart(8, '0'));
  await fs.writeFile(path, '', { mode: 0o666 });
  return path;
}
