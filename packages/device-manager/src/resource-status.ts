import type { ContainerStatus } from '@node-agent/pod-spec';
import type { Device } from './device.ts';

type ResourceStatus = NonNullable<ContainerStatus['allocatedResourcesStatus']>[number];

/**
 * Returns the health of a container's devices for its status (KEP-4680; `UpdateAllocatedResourcesStatus`,
 * `manager.go`). A device that is no longer reported counts as healthy, as in upstream.
 * @param held device ids by resource
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
