import type { FileSystem } from '@node-agent/host';
import { readText } from './hierarchy.ts';

const FILES = ['cpuset.cpus', 'cpuset.mems'];

/**
 * Makes a group and its parents in the cpuset hierarchy of cgroup v1. A new group has no CPUs and no memory there, and no
 * process may enter it: one that has none gets its parent's (`cpusetEnsureParent` of opencontainers/cgroups).
 */
export async function makeCpusetGroup(
  fs: Pick<FileSystem, 'mkdir' | 'readFile' | 'writeFile'>,
  mount: string,
  parts: readonly string[],
): Promise<void> {
  await fs.mkdir([mount, ...parts].join('/'), { mode: 0o755 });
  for (const file of FILES) await inherit(fs, mount, parts, file);
}

/** What a group has; one that has something has parents that have it, too. */
async function inherit(
  fs: Pick<FileSystem, 'readFile' | 'writeFile'>,
  mount: string,
  parts: readonly string[],
  file: string,
): Promise<string> {
  const path = [mount, ...parts, file].join('/');
  const own = (await readText(fs, path)).trim();
  if (own !== '' || parts.length === 0) return own;
  const inherited = await inherit(fs, mount, parts.slice(0, -1), file);
  await fs.writeFile(path, inherited);
  return inherited;
}
