import { type DevicesByNuma, deviceIds } from './device.ts';

/** Devices of one resource that containers hold. */
interface ResourceDevices {
  /** Number of allocations of the resource. An allocation may have no devices. */
  allocations: number;
  readonly ids: Set<string>;
  /** Number of containers that hold each device: containers of a pod may use the devices of its init containers. */
  readonly holders: Map<string, number>;
}

/** The devices that any container holds. Updated with each allocation, so that no allocation reads all others. */
export class HeldDevices {
  readonly #resources = new Map<string, ResourceDevices>();

  /** Returns the held devices by resource, with all resources that have an allocation. The sets change later. */
  ids(): ReadonlyMap<string, ReadonlySet<string>> {
    return new Map([...this.#resources].map(([resource, { ids }]) => [resource, ids] as const));
  }

  add(resource: string, devices: DevicesByNuma): void {
    const held = this.#resources.get(resource) ?? { allocations: 0, ids: new Set(), holders: new Map() };
    this.#resources.set(resource, held);
    held.allocations += 1;
    for (const id of deviceIds(devices)) {
      held.ids.add(id);
      held.holders.set(id, (held.holders.get(id) ?? 0) + 1);
    }
  }

  /** Removes an allocation that was added with the same arguments. */
  remove(resource: string, devices: DevicesByNuma): void {
    const held = this.#resources.get(resource);
    if (held === undefined) return;
    held.allocations -= 1;
    if (held.allocations === 0) this.#resources.delete(resource);
    for (const id of deviceIds(devices)) {
      const holders = (held.holders.get(id) ?? 0) - 1;
      held.holders.set(id, holders);
      if (holders > 0) continue;
      held.holders.delete(id);
      held.ids.delete(id);
    }
  }
}
