import { parseQuantity, Quantity, type ResourceList, type ResourceListJson } from '@node-agent/pod-spec';
import type { DeviceCounts } from './inventory.ts';

/** The devices of a node as resources (`GetCapacity`, `manager.go`). */
export interface DeviceResources {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
  /** Resources whose plugins have been gone for five minutes. */
  readonly removed: readonly string[];
}

/** Converts device counts to the API's quantities. */
export function deviceResources({ capacity, allocatable, removed }: DeviceCounts): DeviceResources {
  const list = (counts: ReadonlyMap<string, number>): ResourceList =>
    new Map([...counts].map(([name, count]) => [name, Quantity.of(count)] as const));
  return { capacity: list(capacity), allocatable: list(allocatable), removed };
}

/**
 * Returns the allocatable resources with at least the held devices (`sanitizeNodeAllocatable`, `manager.go`). @param
 * held devices by resource
 */
export function atLeastHeld(
  allocatable: ResourceListJson,
  held: ReadonlyMap<string, ReadonlySet<string>>,
): ResourceListJson {
  const more = [...held].filter(([name, { size }]) => {
    const there = allocatable[name];
    return there === undefined || parseQuantity(there).value() < BigInt(size);
  });
  return { ...allocatable, ...Object.fromEntries(more.map(([name, { size }]) => [name, String(size)])) };
}
