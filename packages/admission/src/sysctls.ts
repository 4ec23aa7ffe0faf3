import type { RefusalReason } from '@node-agent/contracts';
import { normalizeSysctlName, type Pod, sysctlNamespace } from '@node-agent/pod-spec';

/** Options for the sysctls of pods. */
export interface SysctlOptions {
  /**
   * Kernel release as printed by `uname -r`, for example `6.1.0-18-amd64`; '' if unknown: then sysctls that need a
   * minimum kernel version are unsafe.
   */
  readonly kernelRelease: string;
  /** Names, or patterns ending in `*`, of sysctls that pods may set besides the safe ones (`allowedUnsafeSysctls`). */
  readonly allowedUnsafe: readonly string[];
}

type KernelVersion = readonly [major: number, minor: number];

/**
 * Namespaced sysctls that do not affect other pods, with the minimum kernel version
 * (`pkg/kubelet/sysctl/safe_sysctls.go`).
 */
const SAFE_SYSCTLS: readonly (readonly [name: string, since?: KernelVersion])[] = [
  ['kernel.shm_rmid_forced'],
  ['net.ipv4.ip_local_port_range'],
  ['net.ipv4.tcp_syncookies'],
  ['net.ipv4.ping_group_range'],
  ['net.ipv4.ip_unprivileged_port_start'],
  ['net.ipv4.ip_local_reserved_ports', [3, 16]],
  ['net.ipv4.tcp_keepalive_time', [4, 5]],
  ['net.ipv4.tcp_fin_timeout', [4, 6]],
  ['net.ipv4.tcp_keepalive_intvl', [4, 5]],
  ['net.ipv4.tcp_keepalive_probes', [4, 5]],
  ['net.ipv4.tcp_rmem', [4, 15]],
  ['net.ipv4.tcp_wmem', [4, 15]],
];
const HOST_FIELDS = { net: 'hostNetwork', ipc: 'hostIPC' } as const;
const NAMESPACES = { net: 'Net', ipc: 'IPC' } as const;

/** Handler for sysctls; compatible with `AdmitHandler` of kubelet-core. */
export interface SysctlHandler {
  admit(pod: Pod): { readonly admit: true } | ({ readonly admit: false } & RefusalReason);
}

/**
 * Rejects pods that set sysctls which are neither safe nor allowed, or which belong to a host namespace that the pod
 * uses (`pkg/kubelet/sysctl/allowlist.go`).
 */
export function sysctlHandler({ kernelRelease, allowedUnsafe }: SysctlOptions): SysctlHandler {
  const safe = SAFE_SYSCTLS.filter(([, since]) => since === undefined || isAtLeast(kernelRelease, since)).map(
    ([name]) => name,
  );
  const allowed = [...safe, ...allowedUnsafe.map(normalizeSysctlName)];
  return {
    admit({ spec }) {
      for (const { name } of spec.securityContext?.sysctls ?? []) {
        const problem = sysctlProblem(normalizeSysctlName(name), spec, allowed);
        if (problem !== undefined) {
          return { admit: false, reason: 'SysctlForbidden', message: `forbidden sysctl: ${problem}` };
        }
      }
      return { admit: true };
    },
  };
}

function sysctlProblem(name: string, spec: Pod['spec'], allowed: readonly string[]): string | undefined {
  const match = allowed.find((one) => (one.includes('*') ? name.startsWith(one.replace(/\*.*$/, '')) : name === one));
  if (match === undefined) return `${JSON.stringify(name)} not allowlisted`;
  const namespace = sysctlNamespace(match);
  if (namespace === undefined || !spec[HOST_FIELDS[namespace]]) return undefined;
  return `${JSON.stringify(name)} not allowed with host ${NAMESPACES[namespace]} enabled`;
}

/** Returns whether a kernel release, which may have more parts and a suffix, is at least this version. */
function isAtLeast(release: string, [wantedMajor, wantedMinor]: KernelVersion): boolean {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(release) ?? [];
  return Number(major) > wantedMajor || (Number(major) === wantedMajor && Number(minor) >= wantedMinor);
}
