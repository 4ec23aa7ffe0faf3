import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import { type CgroupDriver, type CgroupManager, DbusSystemd, openCgroups } from '@node-agent/cm-cgroups';
import { nodeFileSystem } from '@node-agent/host';

export const ROOT = '/sys/fs/cgroup';
export const systemd: DbusSystemd = new DbusSystemd({ connect: (path) => connect(path) }, { userId: 0 });
export const kill: typeof process.kill = process.kill.bind(process);

export function open(driver: CgroupDriver): Promise<CgroupManager> {
  return openCgroups({ fs: nodeFileSystem, kill, systemd }, driver);
}

/**
 * Runs a program to its end. @returns its standard output
 * @throws Error if it fails
 */
export async function run(file: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(file, args);
  return stdout.trim();
}

/** Returns the content of a cgroup file; `-` if the file does not exist. */
export async function textOf(group: string, file: string): Promise<string> {
  return (await readFile(`${ROOT}${group}/${file}`, 'utf8').catch(() => '-')).trim();
}

/** Returns the contents of several files of a cgroup. */
export async function textsOf(group: string, files: readonly string[]): Promise<Record<string, string>> {
  const values = await Promise.all(files.map(async (file) => [file, await textOf(group, file)] as const));
  return Object.fromEntries(values);
}

/** Returns a property of a systemd unit. */
export async function propertyOf(unit: string, name: string): Promise<string> {
  return await run('systemctl', 'show', '--value', '-p', name, unit);
}

/** Returns the paths of all descendants of a cgroup. */
export async function groupsBelow(path: string): Promise<readonly string[]> {
  const entries = await readdir(`${ROOT}${path}`, { withFileTypes: true }).catch(() => []);
  const below = entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${path}/${name}`);
  const deeper = await Promise.all(below.map((one) => groupsBelow(one)));
  return [...below, ...deeper.flat()].sort();
}
