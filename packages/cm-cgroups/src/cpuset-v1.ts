import { allOf } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';
import { readText } from './hierarchy.ts';

const FILES = ['cpuset.cpus', 'cpuset.mems'];

/**
 * Creates a cgroup and its parents in the cpuset hierarchy of cgroup v1. In this hierarchy, a new cgroup has no CPUs
 * and memory nodes, so no process can enter the cgroup; empty values are copied from the parent (`cpusetEnsureParent`
 * of opencontainers/cgroups).
 */
export async function makeCpusetGroup(
  fs: Pick<FileSystem, 'mkdir' | 'readFile' | 'writeFile'>,
  mount: string,
  parts: readonly string[],
): Promise<void> {
  await fs.mkdir([mount, ...parts].join('/'), { mode: 0o755 });
  await allOf(FILES.map((file) => inherit(fs, mount, parts, file)));
}

/**
 * Returns the cgroup's value, after copying the parent's value if it is empty. If a cgroup has a value, its parents
 * have values too.
 */
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
