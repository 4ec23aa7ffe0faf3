import { readdir, readFile } from 'node:fs/promises';
import { unmountBelow } from '@node-agent/tools-containerd';
import { run } from './storage/commands.ts';

/** Number of passes. A loop device that is used by a mount or by another loop device disappears with its last user. */
const PASSES = 10;
const PAUSE_MS = 100;

/** Unmounts everything below a directory, and removes the loop devices whose files are in it. */
export async function removeStorageLeftovers(directory: string): Promise<void> {
  await unmountBelow(directory);
  for (let pass = 0; pass < PASSES; pass++) {
    const devices = await loopDevicesBelow(directory);
    if (devices.length === 0) return;
    for (const device of devices) await run('losetup', '--detach', device).catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

/**
 * Returns the loop devices whose files are in a directory. A detached device is listed until its last user ends. The
 * last user may be a mount namespace that was created while the device was mounted.
 */
export async function loopDevicesBelow(directory: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of await readdir('/sys/block')) {
    if (!name.startsWith('loop')) continue;
    const file = await readFile(`/sys/block/${name}/loop/backing_file`, 'utf8').catch(() => '');
    if (file.startsWith(`${directory}/`)) found.push(`/dev/${name}`);
  }
  return found;
}
