import {
  allocatableAbsolute,
  listResourceConfig,
  type ReservedGroup,
  type ResourceConfig,
} from '@node-agent/cm-cgroups';
import type { KubeletConfiguration } from '@node-agent/config';
import type { Reservations } from '@node-agent/node-status';
import { parseResourceList, type ResourceList } from '@node-agent/pod-spec';

/**
 * Computes the limits of the cgroup of all pods. If `enforceNodeAllocatable` contains `pods`, the limits are the
 * machine's capacity minus the reservations. Otherwise the limits are the full capacity: the kernel's default CPU
 * weight would be too low.
 */
export function enforcedResources(
  capacity: ResourceList,
  { reserved }: Pick<Reservations, 'reserved'>,
  enforceNodeAllocatable: readonly string[],
): ResourceList {
  return enforceNodeAllocatable.includes('pods') ? allocatableAbsolute(capacity, reserved) : capacity;
}

const LEVELS = [
  'system-reserved',
  'kube-reserved',
  'system-reserved-compressible',
  'kube-reserved-compressible',
] as const satisfies readonly ReservedGroup['level'][];

/**
 * Returns the cgroups for system daemons and Kubernetes daemons whose reservations are enforced as limits
 * (`enforceNodeAllocatable`).
 */
export function reservedGroups(
  configuration: Pick<
    KubeletConfiguration,
    'enforceNodeAllocatable' | 'systemReserved' | 'kubeReserved' | 'systemReservedCgroup' | 'kubeReservedCgroup'
  >,
  { cpus, memoryQos }: { readonly cpus: Pick<ResourceConfig, 'cpus'>; readonly memoryQos: boolean },
): readonly ReservedGroup[] {
  return LEVELS.filter((level) => configuration.enforceNodeAllocatable.includes(level)).map((level) => {
    const isSystem = level.startsWith('system');
    const cgroup = isSystem ? configuration.systemReservedCgroup : configuration.kubeReservedCgroup;
    const list = parseResourceList(isSystem ? configuration.systemReserved : configuration.kubeReserved);
    if (list.size === 0) return { level, cgroup, limits: undefined };
    const limits = { ...listResourceConfig(list, level.endsWith('compressible') ? 'compressible' : 'all'), ...cpus };
    const { memoryBytes } = limits;
    const isProtected = memoryQos && memoryBytes !== undefined;
    return {
      level,
      cgroup,
      limits: { ...limits, ...(isProtected && { unified: { 'memory.min': String(memoryBytes) } }) },
    };
  });
}
