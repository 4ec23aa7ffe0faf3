import { allocatableAbsolute } from '@node-agent/cm-cgroups';
import type { Reservations } from '@node-agent/node-status';
import type { ResourceList } from '@node-agent/pod-spec';

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
