import { access, readFile } from 'node:fs/promises';
import { run } from './storage/commands.ts';

/** Returns why volumes cannot be mounted on this machine; `undefined` if they can. @param fsTypes file systems to make */
export async function cannotMount(fsTypes: readonly string[] = []): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'mounts need root';
  const hasLoop = await access('/dev/loop-control').then(
    () => true,
    () => false,
  );
  if (!hasLoop) return 'the machine has no loop devices';
  for (const fsType of fsTypes) {
    const isThere = await run(`mkfs.${fsType}`, '-V').then(
      () => true,
      () => false,
    );
    if (!isThere) return `mkfs.${fsType} is not installed`;
  }
  return undefined;
}

/** Bit of CAP_SYS_RESOURCE in the capability sets of a process (capabilities(7)). */
const CAP_SYS_RESOURCE = 24n;

/** Returns why mounted ext file systems cannot grow on this machine; `undefined` if they can. */
export async function cannotGrowExt(): Promise<string | undefined> {
  const [, bits = '0'] = /^CapEff:\s+([0-9a-f]+)$/m.exec(await readFile('/proc/self/status', 'utf8')) ?? [];
  const isAllowed = ((BigInt(`0x${bits}`) >> CAP_SYS_RESOURCE) & 1n) === 1n;
  return isAllowed ? undefined : 'a mounted ext file system can only grow with CAP_SYS_RESOURCE';
}
