import { readdir, readFile, rmdir } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { attempt, run } from './run.ts';

/** Kills the containerds and shims that have one of these paths as an argument, and waits for their exit. */
export async function killProcesses(paths: readonly string[]): Promise<void> {
  for (let tries = 0; tries < 50; tries++) {
    const pids = await processesWith(paths);
    if (pids.length === 0) return;
    killAll(pids);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function processesWith(paths: readonly string[]): Promise<number[]> {
  const pids: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const [program = '', ...args] = (await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')).split('\0');
    if (basename(program).startsWith('containerd') && args.some((arg) => paths.includes(arg))) pids.push(Number(name));
  }
  return pids;
}

/** Returns the IDs of containers in the state directory of a running or killed containerd. */
export function containerIds(state: string): Promise<readonly string[]> {
  return readdir(join(state, 'io.containerd.runtime.v2.task', 'k8s.io')).catch(() => []);
}

/**
 * Removes the iptables rules that the bridge plugin added for a network with masquerading: the rules with the network's
 * name in their comment, and their chains.
 */
export async function removeMasquerade(network: string): Promise<void> {
  const rules = await run('iptables', ['-t', 'nat', '-S']).catch(() => ''); // Without iptables, there are no rules to remove.
  for (const [chain, args] of masqueradeRules(rules, network)) {
    await attempt('iptables', ['-t', 'nat', ...args]);
    await attempt('iptables', ['-t', 'nat', '-F', chain]);
    await attempt('iptables', ['-t', 'nat', '-X', chain]);
  }
}

/**
 * Returns the chains of a network's pods from the output of `iptables -S`, each with the arguments that delete its
 * rule.
 */
export function masqueradeRules(rules: string, network: string): readonly (readonly [string, readonly string[]])[] {
  return rules.split('\n').flatMap((line) => {
    if (!line.startsWith('-A POSTROUTING ') || !line.includes(`name: \\"${network}\\" id: `)) return [];
    const chain = / -j (CNI-\S+)$/.exec(line)?.[1];
    if (chain === undefined) return [];
    const words = [...line.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)];
    const args = words.map(([, quoted, bare]) => quoted?.replace(/\\(.)/g, '$1') ?? bare ?? '');
    return [[chain, ['-D', ...args.slice(1)]] as const];
  });
}

/**
 * Unmounts everything that is mounted in a directory, in reverse order, and the directory itself if it is mounted on
 * itself.
 */
export async function unmountBelow(directory: string): Promise<void> {
  for (const point of (await mountsBelow(directory)).toReversed()) await attempt('umount', ['--lazy', point]);
}

/**
 * Returns the mount points in a directory, in mount order, and the directory itself if it is mounted on itself, as
 * kubelets do with their root directory.
 */
export async function mountsBelow(directory: string): Promise<readonly string[]> {
  return mountsIn(await readFile('/proc/self/mountinfo', 'utf8'), directory);
}

/**
 * Returns the mount points of {@link mountsBelow} in a mount table.
 * @param table content of `/proc/self/mountinfo`
 */
export function mountsIn(table: string, directory: string): readonly string[] {
  const mounts = table.split('\n').flatMap((line) => {
    const [id = '', parent = '', device = '', root, point] = line.split(' ').map(unescaped);
    return root === undefined || point === undefined ? [] : [{ id, parent, device, root, point }];
  });
  const byId = new Map(mounts.map((mount) => [mount.id, mount]));
  return mounts.flatMap(({ parent, device, root, point }) => {
    if (point.startsWith(`${directory}/`)) return [point];
    const below = byId.get(parent);
    if (point !== directory || below === undefined) return [];
    const place = join(below.root, relative(below.point, point));
    return device === below.device && root === place ? [point] : [];
  });
}

function unescaped(field: string): string {
  return field.replace(/\\([0-7]{3})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 8)));
}

/** Kills all processes in a cgroup and its descendants, and waits for their exit. */
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

/** Returns the mount points of cgroup hierarchies: one directory, or one per controller with cgroup v1. */
async function hierarchies(): Promise<string[]> {
  const root = '/sys/fs/cgroup';
  return [root, ...(await readdir(root)).map((name) => join(root, name))];
}

function killAll(pids: Iterable<number>): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // The process has exited since it was listed.
    }
  }
}

/** Removes a cgroup and its descendants in each hierarchy. Cgroups with processes stay. */
export async function removeCgroup(name: string): Promise<void> {
  for (const hierarchy of await hierarchies()) await removeTree(join(hierarchy, name));
}

/** Removes a cgroup in each hierarchy unless it has children, because other containerds on the machine may use it. */
export async function removeCgroupIfEmpty(name: string): Promise<void> {
  for (const hierarchy of await hierarchies()) await rmdir(join(hierarchy, name)).catch(() => {});
}

async function removeTree(path: string): Promise<void> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await removeTree(join(path, entry.name));
  await rmdir(path).catch(() => {});
}
