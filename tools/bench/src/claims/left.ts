import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { mountsBelow } from '@node-agent/tools-containerd';
import { DRIVER } from './claimed-volumes.ts';

/**
 * Returns the mount points below the directory of a turn, and the directories of staged volumes below the kubelet's
 * root directory: what a deletion has not cleaned up yet.
 */
export async function leftIn(directory: string, rootDirectory: string): Promise<readonly string[]> {
  const staged = join(rootDirectory, 'plugins/kubernetes.io/csi', DRIVER);
  const directories = await readdir(staged).catch(() => []);
  return [...(await mountsBelow(directory)), ...directories.map((name) => join(staged, name))].sort();
}
