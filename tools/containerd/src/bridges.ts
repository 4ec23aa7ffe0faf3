import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { attempt, run } from './run.ts';

/** What each containerd's bridge is named: after the hash of its directory. */
const OURS = /^na-[0-9a-f]{8}$/;

/**
 * Takes away bridges that earlier containerds have left when they were killed, and that have an address of a subnet: without pods
 * they have no link, and yet the machine would send what is for the new ones' pods to them. One that has pods stays, and so does
 * one that is named otherwise.
 * @returns their names
 */
export async function removeLeftBridges(subnet: string, sysfs: string = '/sys/class/net'): Promise<readonly string[]> {
  const removed: string[] = [];
  for (const name of bridgesWithin(await run('ip', ['-o', '-4', 'addr', 'show']), subnet)) {
    // What is no bridge has no such directory.
    const ports = await readdir(join(sysfs, name, 'brif')).catch(() => undefined);
    if (ports?.length !== 0) continue;
    const { exitCode } = await attempt('ip', ['link', 'delete', name, 'type', 'bridge']);
    if (exitCode === 0) removed.push(name);
  }
  return removed;
}

/** The interfaces named as ours that have an address of a subnet, in what `ip -o -4 addr show` prints. */
export function bridgesWithin(addresses: string, subnet: string): readonly string[] {
  const [base = '', bits = '32'] = subnet.split('/');
  const size = 2 ** (32 - Number(bits));
  const block = (address: string): number => Math.floor(numberOf(address) / size);
  const names = addresses.split('\n').flatMap((line) => {
    const [, name = '', address = ''] = /^\d+: (\S+)\s+inet (\d+\.\d+\.\d+\.\d+)/.exec(line) ?? [];
    return OURS.test(name) && block(address) === block(base) ? [name] : [];
  });
  return [...new Set(names)];
}

function numberOf(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}
