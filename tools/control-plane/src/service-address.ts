import { attempt, run } from './run.ts';

/** Why this process cannot give the machine an address; `undefined` where it can. */
export async function cannotAddAddress(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'an address of the machine is added as root';
  const version = await attempt('ip', ['-V']).catch(() => undefined);
  return version === undefined ? 'ip of iproute2 is not installed' : undefined;
}

/**
 * Gives the loopback interface an address, as kube-proxy gives the addresses of services to an interface of its own: pods reach it
 * by their default route, the machine's processes as any other, and nobody from beyond the machine.
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
