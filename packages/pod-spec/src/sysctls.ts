import { normalizeSysctlName } from './pod-facts.ts';

/** Those of System V IPC, one by one; the two without an ending are what is left of `kernel.shm*` and `kernel.msg*`. */
const IPC_SYSCTLS: ReadonlySet<string> = new Set([
  'kernel.sem',
  ...['all', 'max', 'mni', '_rmid_forced', ''].map((end) => `kernel.shm${end}`),
  ...['max', 'mnb', 'mni', ''].map((end) => `kernel.msg${end}`),
]);

/**
 * The namespace whose own a sysctl is, or all of a pattern that ends in `*` are; `undefined` where the machine shares it
 * (`component-helpers/node/util/sysctl/namespace.go`).
 */
export function sysctlNamespace(nameOrPattern: string): 'net' | 'ipc' | undefined {
  const [name = ''] = normalizeSysctlName(nameOrPattern).split('*');
  if (name.startsWith('net.')) return 'net';
  return IPC_SYSCTLS.has(name) || name.startsWith('fs.mqueue.') ? 'ipc' : undefined;
}
