import { attempt, run } from './run.ts';

/** Returns the reason why this process cannot add an address to the machine; `undefined` if it can. */
export async function cannotAddAddress(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'adding an address requires root';
  const version = await attempt('ip', ['-V']).catch(() => undefined);
  return version === undefined ? 'ip of iproute2 is not installed' : undefined;
}

/**
 * Adds an address to the loopback interface, as kube-proxy in IPVS mode adds service addresses to an interface. Pods
 * reach the address by their default route, processes of the machine reach it directly, and other machines cannot reach
 * it.
 */
export async function addAddress(address: string): Promise<void> {
  if (!(await hasAddress(address))) await run('ip', ['address', 'add', `${address}/32`, 'dev', 'lo']);
}

export async function removeAddress(address: string): Promise<void> {
  if (await hasAddress(address)) await run('ip', ['address', 'delete', `${address}/32`, 'dev', 'lo']);
}

async function hasAddress(address: string): Promise<boolean> {
  const { stdout } = await attempt('ip', ['-o', 'address', 'show', 'dev', 'lo', 'to', `${address}/32`]).catch(() => ({
    stdout: '',
  }));
  return stdout.trim() !== '';
}
