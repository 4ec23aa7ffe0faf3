import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { attempt, run } from './run.ts';

/** Matches the names of the bridges of private containerds, which contain a hash of the directory. */
const OURS = /^na-[0-9a-f]{8}$/;

/**
 * Removes bridges that killed containerds left behind and that have an address in a subnet. Such a bridge has no pods
 * and no link, but the machine would still send packets for the new pods to it. Bridges with pods and bridges with
 * other names stay.
 * @returns the names of the removed bridges
 */
export async function removeLeftBridges(subnet: string, sysfs: string = '/sys/class/net'): Promise<readonly string[]> {
  const removed: string[] = [];
  for (const name of bridgesWithin(await run('ip', ['-o', '-4', 'addr', 'show']), subnet)) {
    // An interface that is not a bridge has no such directory.
    const ports = await readdir(join(sysfs, name, 'brif')).catch(() => undefined);
    if (ports?.length !== 0) continue;
    const { exitCode } = await attempt('ip', ['link', 'delete', name, 'type', 'bridge']);
    if (exitCode === 0) removed.push(name);
  }
  return removed;
}

/** Returns the private containerds' interfaces with an address in a subnet, from the output of `ip -o -4 addr show`. */
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
