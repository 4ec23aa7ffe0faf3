import { normalizeSysctlName } from './pod-facts.ts';

/**
 * System V IPC sysctls. The names without an ending are `kernel.shm` and `kernel.msg`, the prefixes of the
 * `kernel.shm*` and `kernel.msg*` patterns.
 */
const IPC_SYSCTLS: ReadonlySet<string> = new Set([
  'kernel.sem',
  ...['all', 'max', 'mni', '_rmid_forced', ''].map((end) => `kernel.shm${end}`),
  ...['max', 'mnb', 'mni', ''].map((end) => `kernel.msg${end}`),
]);

/**
 * Returns the namespace of a sysctl, or of all sysctls that match a pattern ending in `*`
 * (`component-helpers/node/util/sysctl/namespace.go`). The result is `undefined` if the sysctl is shared by the whole
 * machine.
 */
export function sysctlNamespace(nameOrPattern: string): 'net' | 'ipc' | undefined {
  const [name = ''] = normalizeSysctlName(nameOrPattern).split('*');
  if (name.startsWith('net.')) return 'net';
  return IPC_SYSCTLS.has(name) || name.startsWith('fs.mqueue.') ? 'ipc' : undefined;
}
