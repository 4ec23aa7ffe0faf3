import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openCgroups, type ResourceConfig, readHierarchy } from '@node-agent/cm-cgroups';
import { nodeFileSystem } from '@node-agent/host';

const DESTROY_MS = 30_000;

/**
 * Creates a cgroup below the root in all hierarchies. @param limits limits of the cgroup. Default: none
 * @returns the directories of the cgroup, one per hierarchy
 */
export async function makeGroup(name: string, limits: ResourceConfig = {}): Promise<readonly string[]> {
  await (await openGroups()).create([name], limits);
  return groupDirectories(name);
}

/**
 * Kills all processes in a cgroup and its descendants, and removes these cgroups. @throws Error if a cgroup could not
 * be removed
 */
export async function destroyGroup(name: string): Promise<void> {
  await (await openGroups()).destroy([name], AbortSignal.timeout(DESTROY_MS));
}

/** Returns the directories of a cgroup in all hierarchies that contain it. */
export async function groupDirectories(name: string): Promise<readonly string[]> {
  const hierarchy = await readHierarchy(nodeFileSystem);
  const mounts = hierarchy.version === 1 ? [...hierarchy.mounts.values()] : [hierarchy.mount];
  return mounts.map((mount) => join(mount, name)).filter((directory) => existsSync(directory));
}

/**
 * Returns whether a cgroup or one of its descendants contains a process. Returns true if a cgroup cannot be read,
 * because it may be changing.
 * @param groups directories of the cgroup
 */
export async function hasProcesses(groups: readonly string[]): Promise<boolean> {
  for (const group of groups) {
    const files = await readdir(group, { recursive: true }).catch(() => undefined);
    if (files === undefined) return true;
    for (const file of files) {
      if (!/(^|\/)cgroup\.procs$/.test(file)) continue;
      // The cgroup may be removed while it is read.
      if ((await readFile(`${group}/${file}`, 'utf8').catch(() => '')) !== '') return true;
    }
  }
  return false;
}

function openGroups(): ReturnType<typeof openCgroups> {
  return openCgroups({ fs: nodeFileSystem, kill: process.kill.bind(process) });
}
