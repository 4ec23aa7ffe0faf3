import { readdir, readFile, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { attempt } from './run.ts';

/** Kills the shims that belong to the containerd at this socket, by their process ids, and waits for their end. */
export async function killShims(socket: string): Promise<void> {
  for (let tries = 0; tries < 50; tries++) {
    const pids = await shimsOf(socket);
    if (pids.length === 0) return;
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended by itself since it was listed.
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function shimsOf(socket: string): Promise<number[]> {
  const pids: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const line = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '');
    const args = line.split('\0');
    if (args[0]?.includes('containerd-shim') && args.includes(socket)) pids.push(Number(name));
  }
  return pids;
}

/** Unmounts whatever is mounted in a directory, the last mounted first. */
export async function unmountBelow(directory: string): Promise<void> {
  const table = await readFile('/proc/self/mountinfo', 'utf8');
  const points = table
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((point) => point.startsWith(`${directory}/`));
  for (const point of points.reverse()) await attempt('umount', ['--lazy', point]);
}

/** Removes a cgroup and those below it, in each hierarchy; what still has processes stays. */
export async function removeCgroup(name: string): Promise<void> {
  const root = '/sys/fs/cgroup';
  for (const directory of [root, ...(await readdir(root)).map((hierarchy) => join(root, hierarchy))]) {
    await removeTree(join(directory, name));
  }
}

async function removeTree(path: string): Promise<void> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await removeTree(join(path, entry.name));
  await rmdir(path).catch(() => {});
}
