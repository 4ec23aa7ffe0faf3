import type { Pod } from './api.ts';
import type { AnyContainer } from './containers.ts';
import { isMirrorPod, isStaticPod } from './pod-source.ts';

/** From this priority on a pod is critical to the system: that of `system-cluster-critical`. */
const SYSTEM_CRITICAL_PRIORITY = 2_000_000_000;

/** Whether the node should rather lose other pods: static pods, their mirrors, and those of a critical priority. */
export function isCriticalPod(pod: Pod): boolean {
  return isStaticPod(pod) || isMirrorPod(pod) || (pod.spec.priority ?? 0) >= SYSTEM_CRITICAL_PRIORITY;
}

/** `name_namespace(uid)`: how log lines and events show a pod (`pkg/kubelet/util/format`). */
export function formatPod(pod: { readonly metadata: Pick<Pod['metadata'], 'name' | 'namespace' | 'uid'> }): string {
  const { name, namespace, uid } = pod.metadata;
  return `${name}_${namespace}(${uid})`;
}

/**
 * The number of a port that a probe or hook names by number or by name; `undefined` where the container has no port of
 * that name, or the number is none of a port.
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
 * A sysctl's name with dots between its parts. `/` may stand for `.` where it comes first; then a dot stands for `/`,
 * as in `net/ipv4/conf/eno2.100/rp_filter` (sysctl.d(5)).
 */
export function normalizeSysctlName(name: string): string {
  if (/[./]/.exec(name)?.[0] !== '/') return name;
  return name.replace(/[./]/g, (separator) => (separator === '.' ? '/' : '.'));
}

/** Whether a pod never leaves this phase: it has succeeded or failed (S1). */
export function isTerminalPhase(phase: string | undefined): phase is 'Succeeded' | 'Failed' {
  return phase === 'Succeeded' || phase === 'Failed';
}
