import { isExtendedResource, isHugePageResource, Quantity, type ResourceList } from '@node-agent/pod-spec';
import { type Reservations, reservationOfCapacity } from './reservation.ts';

/**
 * What pods can have of the capacity (`nodestatus/setters.go`, MachineInfo): the capacity without what is kept back, never below 0.
 * Memory in huge pages is no memory for anything else. Of resources that are gone from the capacity only extended ones go.
 *
 * @param before what the node has said so far
 * @param devices what device plugins have that is healthy
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
