import type { FileSystem } from '@node-agent/host';
import { readText } from './hierarchy.ts';

const FILES = ['cpuset.cpus', 'cpuset.mems'];

/**
 * Makes a group and its parents in the cpuset hierarchy of cgroup v1. A new group has no CPUs and no memory there, and no
 * process may enter it: each one that has none gets its parent's (`cpusetEnsureParent` of opencontainers/cgroups).
 */
export async function makeCpusetGroup(
  fs: Pick<FileSystem, 'mkdir' | 'readFile' | 'writeFile'>,
  mount: string,
  parts: readonly string[],
): Promise<void> {
  let directory = mount;
  for (const part of parts) {
    const parent = directory;
    directory = `${parent}/${part}`;
    await fs.mkdir(directory, { mode: 0o755 });
    for (const file of FILES) {
      if ((await readText(fs, `${directory}/${file}`)).trim() !== '') continue;
      await fs.writeFile(`${directory}/${file}`, (await readText(fs, `${parent}/${file}`)).trim());
    }
  }
}
