import { existsSync } from 'node:fs';
import { readdir, readFile, readlink, rmdir } from 'node:fs/promises';

/**
 * Returns the directories to remove at the end: those that do not exist, and those that exist because another cluster
 * has created them as mount points. The cluster that ends last removes them.
 */
export async function ownMountPoints(directories: readonly string[]): Promise<readonly string[]> {
  const used = await foreignMountPoints();
  return directories.filter((path) => !existsSync(path) || used.has(path));
}

/**
 * Removes mount points that are empty. A mount point of another mount namespace stays, because its removal would unmount
 * it there.
 */
export async function removeMountPoints(paths: readonly string[]): Promise<void> {
  const used = await foreignMountPoints();
  // A directory that somebody else has filled in the meantime is not empty and stays.
  for (const path of paths) if (!used.has(path)) await rmdir(path).catch(() => {});
}

/** Returns the mount points in a content of `/proc/PID/mountinfo`. */
export function mountPointsIn(mountinfo: string): readonly string[] {
  return mountinfo.split('\n').flatMap((line) => line.split(' ')[4] ?? []);
}

/** Returns the mount points of all mount namespaces except this process's. */
async function foreignMountPoints(): Promise<ReadonlySet<string>> {
  const seen = new Set([await readlink('/proc/self/ns/mnt')]);
  const points = new Set<string>();
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    // The process may exit at any time.
    const namespace = await readlink(`/proc/${pid}/ns/mnt`).catch(() => undefined);
    if (namespace === undefined || seen.has(namespace)) continue;
    seen.add(namespace);
    const mountinfo = await readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => '');
    for (const point of mountPointsIn(mountinfo)) points.add(point);
  }
  return points;
}
