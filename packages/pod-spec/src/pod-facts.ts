import type { Pod } from './api.ts';
import type { AnyContainer } from './containers.ts';
import { isMirrorPod, isStaticPod } from './pod-source.ts';

/** Lowest priority of a pod that is critical to the system: the priority of `system-cluster-critical`. */
const SYSTEM_CRITICAL_PRIORITY = 2_000_000_000;

/**
 * Returns whether the node should keep this pod in preference to others: static pods, their mirrors, and pods of a
 * critical priority.
 */
export function isCriticalPod(pod: Pod): boolean {
  return isStaticPod(pod) || isMirrorPod(pod) || (pod.spec.priority ?? 0) >= SYSTEM_CRITICAL_PRIORITY;
}

/** Formats a pod as `name_namespace(uid)` for log lines and events (`pkg/kubelet/util/format`). */
export function formatPod(pod: { readonly metadata: Pick<Pod['metadata'], 'name' | 'namespace' | 'uid'> }): string {
  const { name, namespace, uid } = pod.metadata;
  return `${name}_${namespace}(${uid})`;
}

/**
 * Returns the number of a port that a probe or hook refers to by number or name, or `undefined` if the container has no
 * port of this name or if the number is not a valid port.
 */
export function resolveContainerPort(
  container: Pick<AnyContainer, 'ports'>,
  port: number | string,
): number | undefined {
  const named = container.ports?.find((one) => one.name === port)?.containerPort;
  const number = named ?? (/^\d+$/.test(String(port)) ? Number(port) : 0);
  return number > 0 && number < 65_536 ? number : undefined;
}

/**
 * Returns a sysctl's name with dots as separators. If `/` is the first separator, slashes separate parts, and a dot in
 * a part becomes `/`, as in `net/ipv4/conf/eno2.100/rp_filter` (sysctl.d(5)).
 */
export function normalizeSysctlName(name: string): string {
  if (/[./]/.exec(name)?.[0] !== '/') return name;
  return name.replace(/[./]/g, (separator) => (separator === '.' ? '/' : '.'));
}

/** Returns whether a phase is final: `Succeeded` or `Failed` (S1). */
export function isTerminalPhase(phase: string | undefined): phase is 'Succeeded' | 'Failed' {
  return phase === 'Succeeded' || phase === 'Failed';
}
