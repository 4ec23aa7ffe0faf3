import { readdir, readFile, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { attempt } from './run.ts';

/** Kills the shims that belong to the containerd at this socket, by their process ids, and waits for their end. */
export async function killShims(socket: string): Promise<void> {
  for (let tries = 0; tries < 50; tries++) {
    const pids = await shimsOf(socket);
    if (pids.length === 0) return;
    killAll(pids);
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

/** Kills every process in a cgroup and those below it, by their process ids, and waits for their end. */
export async function killCgroup(name: string): Promise<void> {
  for (let tries = 0; tries < 50; tries++) {
    const pids = new Set<number>();
    for (const directory of await hierarchies()) await collectProcesses(join(directory, name), pids);
    if (pids.size === 0) return;
    killAll(pids);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function collectProcesses(path: string, pids: Set<number>): Promise<void> {
  const text = await readFile(join(path, 'cgroup.procs'), 'utf8').catch(() => '');
  for (const line of text.split('\n')) if (line !== '') pids.add(Number(line));
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await collectProcesses(join(path, entry.name), pids);
}

/** Where cgroups are: one directory, or under version 1 one for each controller. */
async function hierarchies(): Promise<string[]> {
  const root = '/sys/fs/cgroup';
  return [root, ...(await readdir(root)).map((name) => join(root, name))];
}

function killAll(pids: Iterable<number>): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended by itself since it was listed.
    }
  }
}

/** Removes a cgroup and those below it, in each hierarchy; what still has processes stays. */
export async function removeCgroup(name: string): Promise<void> {
  for (const directory of await hierarchies()) await removeTree(join(directory, name));
}

async function removeTree(path: string): Promise<void> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await removeTree(join(path, entry.name));
  await rmdir(path).catch(() => {});
}
