import { rm } from 'node:fs/promises';
import { removeStorageLeftovers } from '@node-agent/tools-csi-driver';

/** Removes a test's directory after unmounting the root directories of kubelets, the volumes and the disks in it. */
export async function removeDirectory(directory: string): Promise<void> {
  await removeStorageLeftovers(directory);
  await rm(directory, { recursive: true, force: true });
}
