import { type Clock, sleep } from '@node-agent/async';
import type { MemoryFileSystem } from '@node-agent/host/testing';

const RETRY_MS = 1000;

/**
 * Creates the socket file of a plugin, after removing the socket file of the plugin's former process. While the disk
 * has a fault, creating the file is retried, as by a service manager.
 * @param isRunning whether the plugin still runs
 */
export async function createSocketFile(
  { fs, clock }: { readonly fs: MemoryFileSystem; readonly clock: Clock },
  path: string,
  isRunning: () => boolean,
): Promise<void> {
  while (isRunning()) {
    await removeSocketFile(fs, path);
    try {
      fs.makeSpecial(path, 'socket');
      return;
    } catch {
      await sleep(clock, RETRY_MS);
    }
  }
}

/** Removes the socket file of a plugin, unless the disk has a fault. */
export async function removeSocketFile(fs: MemoryFileSystem, path: string): Promise<void> {
  await fs.remove(path).catch(() => {});
}
