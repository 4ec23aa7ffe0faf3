import type { ContainerStatus } from '@node-agent/pod-spec';
import type { Device } from './device.ts';

type ResourceStatus = NonNullable<ContainerStatus['allocatedResourcesStatus']>[number];

/**
 * How the devices of a container are, for its status (KEP-4680; `UpdateAllocatedResourcesStatus`, `manager.go`). One that nobody tells of
 * any more counts as healthy, as upstream has it.
 * @param held by resource
 */
export function resourcesStatus(
  held: ReadonlyMap<string, ReadonlySet<string>>,
  devicesOf: (resource: string) => ReadonlyMap<string, Device> | undefined,
): readonly ResourceStatus[] {
  return inOrder(held.keys()).map((resource) => ({
    name: resource,
    resources: inOrder(held.get(resource) ?? []).map((id) => ({
      resourceID: id,
      health: (devicesOf(resource)?.get(id)?.healthy ?? true) ? 'Healthy' : 'Unhealthy',
    })),
  }));
}

function inOrder(names: Iterable<string>): readonly string[] {
  return [...names].sort();
}
