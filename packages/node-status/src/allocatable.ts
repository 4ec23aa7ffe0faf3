import { isExtendedResource, isHugePageResource, Quantity, type ResourceList } from '@node-agent/pod-spec';
import { type Reservations, reservationOfCapacity } from './reservation.ts';

/**
 * Returns the resources available to pods (`nodestatus/setters.go`, MachineInfo): the capacity minus the reservations,
 * at least 0. Memory of huge pages is subtracted from memory. If a resource is no longer in the capacity, it is removed
 * from the allocatable resources only if it is an extended resource.
 *
 * @param before the allocatable resources that the node reported last
 * @param devices the healthy devices of device plugins
 */
export function nodeAllocatable(
  before: ResourceList,
  capacity: ResourceList,
  reservations: Reservations,
  devices: ResourceList = new Map(),
): ResourceList {
  const allocatable = new Map([...before].filter(([name]) => capacity.has(name) || !isExtendedResource(name)));
  const kept = reservationOfCapacity(capacity, reservations);
  for (const [name, quantity] of capacity) allocatable.set(name, minus(quantity, kept.get(name)));
  for (const [name, quantity] of devices) allocatable.set(name, quantity);
  for (const [name, quantity] of capacity) {
    if (!isHugePageResource(name)) continue;
    allocatable.set('memory', minus(allocatable.get('memory') ?? Quantity.zero, quantity));
  }
  return allocatable;
}

function minus(quantity: Quantity, other: Quantity = Quantity.zero): Quantity {
  const difference = quantity.sub(other);
  return difference.compare(Quantity.zero) < 0 ? Quantity.of(0, difference.format) : difference;
}
