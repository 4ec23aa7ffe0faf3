import { readdir, readFile, rm } from 'node:fs/promises';
import { mountsBelow, unmountBelow } from '@node-agent/tools-containerd';

/** The processes that have this word among their arguments. */
async function processesWith(argument: string): Promise<readonly number[]> {
  const pids: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
    // A kubelet shows its arguments as one text.
    const args = (await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')).split(/[\0 ]/);
    if (args.includes(argument)) pids.push(Number(name));
  }
  return pids;
}

/** Kills the kubelet that was started with this configuration file, where an earlier run has left one. */
export async function killStaleKubelet(configFile: string): Promise<void> {
  const pids = await processesWith(`--config=${configFile}`);
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  while ((await processesWith(`--config=${configFile}`)).length > 0)
    await new Promise((resolve) => setTimeout(resolve, 20));
}

/**
 * Removes a directory that volumes may be mounted in.
 * @throws Error where something stays mounted there: what is behind a mount is not ours to remove
 */
export async function removeWithMounts(directory: string): Promise<void> {
  await unmountBelow(directory);
  const left = await mountsBelow(directory);
  if (left.length > 0) throw new Error(`${left.join(', ')} stays mounted, so ${directory} is not removed`);
  await rm(directory, { recursive: true, force: true });
}
