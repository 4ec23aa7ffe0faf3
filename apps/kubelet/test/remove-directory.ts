import { rm } from 'node:fs/promises';
import { unmountBelow } from '@node-agent/tools-containerd';

/** Removes a test's directory after unmounting the root directories of kubelets in it. */
export async function removeDirectory(directory: string): Promise<void> {
  await unmountBelow(directory);
  await rm(directory, { recursive: true, force: true });
}
