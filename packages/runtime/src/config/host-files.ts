import { join } from 'node:path';
import type { Random } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';

const CPU_DIRECTORY = '/sys/devices/system/cpu';

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
  const directory = join(rootDirectory, 'pods', podUid, 'containers', containerName);
  await fs.mkdir(directory, { mode: 0o750 });
  const name = Math.floor(random.next() * 2 ** 32).toString(16);
  const path = join(directory, name.padStart(8, '0'));
  await fs.writeFile(path, '', { mode: 0o666 });
  return path;
}

/** The machine's `thermal_throttle` directories, one for each CPU that has one: they tell a guest what its host does. */
export async function thermalThrottlePaths(fs: Pick<FileSystem, 'readFile' | 'exists'>): Promise<readonly string[]> {
  const paths: string[] = [];
  for (const cpu of await possibleCpus(fs)) {
    const path = `${CPU_DIRECTORY}/cpu${cpu}/thermal_throttle`;
    if (await fs.exists(path)) paths.push(path);
  }
  return paths;
}

async function possibleCpus(fs: Pick<FileSystem, 'readFile' | 'exists'>): Promise<readonly number[]> {
  const path = `${CPU_DIRECTORY}/possible`;
  if (!(await fs.exists(path))) return [];
  return parseCpuList(new TextDecoder().decode(await fs.readFile(path)));
}

/** Reads the kernel's form of a set of CPUs, `0-3,8`; ranges that make no sense are left out. */
export function parseCpuList(text: string): readonly number[] {
  return text
    .trim()
    .split(',')
    .flatMap((range) => {
      const [, first, last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(range.trim()) ?? [];
      if (first === undefined) return [];
      const length = Math.max(Number(last) - Number(first) + 1, 0);
      return Array.from({ length }, (_, index) => Number(first) + index);
    });
}
