import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { attempt } from './run.ts';

/**
 * Returns the snapshotter that works in a directory. overlayfs is fast, but cannot be mounted on another overlayfs,
 * which is the root file system of containers. `native` copies files and works everywhere.
 */
export async function snapshotterFor(directory: string): Promise<'overlayfs' | 'native'> {
  const work = await mkdtemp(join(directory, 'probe-'));
  const [lower, upper, workdir, merged] = ['lower', 'upper', 'work', 'merged'].map((name) => join(work, name));
  try {
    for (const path of [lower, upper, workdir, merged]) if (path !== undefined) await mkdir(path);
    const options = `lowerdir=${lower},upperdir=${upper},workdir=${workdir}`;
    const mounted = await attempt('mount', ['-t', 'overlay', 'overlay', '-o', options, String(merged)]);
    if (mounted.exitCode !== 0) return 'native';
    await attempt('umount', [String(merged)]);
    return 'overlayfs';
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
