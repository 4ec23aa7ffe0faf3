import type { ForeignFiles, TreeUsage } from '@node-agent/host';

/**
 * Returns the usage of the whole file system that is mounted at a path (`NewMetricsStatFS` of `pkg/volume`). @throws a
 * system error
 */
export async function statfsUsage(foreignFiles: Pick<ForeignFiles, 'statfs'>, path: string): Promise<TreeUsage> {
  const fileSystem = await foreignFiles.statfs(path);
  const { totalBytes, freeBytes, inodes, freeInodes } = fileSystem;
  return { bytes: totalBytes - freeBytes, inodes: inodes - freeInodes, complete: true, fileSystem };
}
