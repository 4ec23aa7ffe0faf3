import { join } from 'node:path';
import type { Random } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';

/** Where a container's own files are; all containers' of a pod where `containerName` is ''. */
export function containerFilesPath(rootDirectory: string, podUid: string, containerName: string): string {
  return join(rootDirectory, 'pods', podUid, 'containers', containerName || '/');
}

/**
 * Makes the file that takes a container's termination message: `<root>/pods/<uid>/containers/<name>/<random>`, writable
 * by whatever user the container runs as. Every attempt gets a file of its own.
 * @throws what the file system throws
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
