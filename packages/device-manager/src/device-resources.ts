import { parseQuantity, Quantity, type ResourceList, type ResourceListJson } from '@node-agent/pod-spec';
import type { DeviceCounts } from './inventory.ts';

/** The devices that a node has (`GetCapacity`, `manager.go`). */
export interface DeviceResources {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
  /** Of these plugins nothing was heard for five minutes: there are none. */
  readonly removed: readonly string[];
}

/** Numbers of devices as the API has them. */
export function deviceResources({ capacity, allocatable, removed }: DeviceCounts): DeviceResources {
  const list = (counts: ReadonlyMap<string, number>): ResourceList =>
    new Map([...counts].map(([name, count]) => [name, Quantity.of(count)] as const));
  return { capacity: list(capacity), allocatable: list(allocatable), removed };
}

/** What a node has, and at least what is held of it (`sanitizeNodeAllocatable`, `manager.go`). @param held devices by resource */
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
