import { readdir, readFile, rm } from 'node:fs/promises';
import { mountsBelow, unmountBelow } from '@node-agent/tools-containerd';

/** Returns the IDs of the processes that have an argument. */
async function processesWith(argument: string): Promise<readonly number[]> {
  const pids: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
    // The kubelet sets its process title, so its arguments are one text separated by spaces.
    const args = (await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')).split(/[\0 ]/);
    if (args.includes(argument)) pids.push(Number(name));
  }
  return pids;
}

/** Kills the kubelet that an earlier run started with this configuration file, if it still runs. */
export async function killStaleKubelet(configFile: string): Promise<void> {
  const pids = await processesWith(`--config=${configFile}`);
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  while ((await processesWith(`--config=${configFile}`)).length > 0)
    await new Promise((resolve) => setTimeout(resolve, 20));
}

/**
 * Removes a directory in which volumes may be mounted.
 * @throws Error if a file system cannot be unmounted; the content of a mounted file system must not be removed
 */
export async function removeWithMounts(directory: string): Promise<void> {
  await unmountBelow(directory);
  const left = await mountsBelow(directory);
  if (left.length > 0) throw new Error(`remove ${directory}: still mounted: ${left.join(', ')}`);
  await rm(directory, { recursive: true, force: true });
}
