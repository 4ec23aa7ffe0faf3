import { rm } from 'node:fs/promises';
import { unmountBelow } from '@node-agent/tools-containerd';

/** Removes a test's directory: kubelets leave their root directories in it mounted. */
export async function removeDirectory(directory: string): Promise<void> {
  await unmountBelow(directory);
  await rm(directory, { recursive: true, force: true });
}
