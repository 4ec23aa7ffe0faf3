import { existsSync } from 'node:fs';
import { readdir, readFile, readlink, rmdir } from 'node:fs/promises';

/**
 * Returns the directories that the cluster must remove at its end: directories that do not exist yet, and directories
 * that another cluster has created as mount points. If several clusters use a directory, the last cluster that ends
 * removes it.
 */
export async function ownMountPoints(directories: readonly string[]): Promise<readonly string[]> {
  const used = await foreignMountPoints();
  return directories.filter((path) => !existsSync(path) || used.has(path));
}

/**
 * Removes mount points that are empty. A directory that is a mount point in another mount namespace is kept, because
 * its removal would unmount it there.
 */
export async function removeMountPoints(paths: readonly string[]): Promise<void> {
  const used = await foreignMountPoints();
  // `rmdir` fails for a directory that another program has filled in the meantime, so the directory is kept.
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
    // Reading fails if the process exits in the meantime.
    const namespace = await readlink(`/proc/${pid}/ns/mnt`).catch(() => undefined);
    if (namespace === undefined || seen.has(namespace)) continue;
    seen.add(namespace);
    const mountinfo = await readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => '');
    for (const point of mountPointsIn(mountinfo)) points.add(point);
  }
  return points;
}
