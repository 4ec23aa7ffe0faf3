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
 * What all pods together are held to: what the machine has, less what is reserved where that is enforced on pods
 * (`enforceNodeAllocatable`). Without it the capacity is set all the same: the kernel's default share of the CPU is too small.
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

/** The groups of the system and of Kubernetes that are held to what is reserved for them (`enforceNodeAllocatable`). */
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
