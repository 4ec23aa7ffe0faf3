import type { Device } from './device.ts';

/** For how long a plugin that is gone may come back before its resource is taken from the node (`endpointStopGracePeriod`). */
const STOP_GRACE_PERIOD_MS = 5 * 60_000;

/** How many devices of each resource a node has. */
interface DeviceCounts {
  readonly capacity: ReadonlyMap<string, number>;
  readonly allocatable: ReadonlyMap<string, number>;
  /** Resources that are gone: the node has none of them. */
  readonly removed: readonly string[];
}

interface Resource {
  /** As the plugin told them last: it may be gone since. */
  devices: ReadonlyMap<string, Device>;
  /** Those that may be given to containers; `undefined` where no plugin has told any. */
  healthy: ReadonlySet<string> | undefined;
  unhealthy: ReadonlySet<string> | undefined;
  /** Monotonic; `undefined` while there is a plugin. */
  stoppedAtMs: number | undefined;
}

const none: ReadonlySet<string> = new Set();

/** The devices that plugins have, or had (`pkg/kubelet/cm/devicemanager/manager.go`: allDevices, healthyDevices, unhealthyDevices, endpoints). */
export class DeviceInventory {
  readonly #resources = new Map<string, Resource>();
  readonly #removed = new Set<string>();

  /** An earlier process knew the resource: it counts as one whose plugin has just gone. */
  restored(resource: string, nowMs: number): void {
    this.#resources.set(resource, { devices: new Map(), healthy: none, unhealthy: none, stoppedAtMs: nowMs });
  }

  /** A plugin offers the resource. What was known of its devices holds until it tells them. */
  plugged(resource: string): void {
    const unknown: Resource = { devices: new Map(), healthy: undefined, unhealthy: undefined, stoppedAtMs: undefined };
    this.#resources.set(resource, { ...(this.#resources.get(resource) ?? unknown), stoppedAtMs: undefined });
    this.#removed.delete(resource);
  }

  /** The plugin is gone: none of its devices may be given to a container. */
  unplugged(resource: string, nowMs: number): void {
    const known = this.#resources.get(resource);
    if (known === undefined) return;
    known.unhealthy = new Set([...(known.unhealthy ?? []), ...(known.healthy ?? [])]);
    if (known.healthy !== undefined) known.healthy = none;
    known.stoppedAtMs = nowMs;
  }

  /** All devices that there are now. @returns those that came, or whose health is another */
  update(resource: string, devices: ReadonlyMap<string, Device>): ReadonlySet<string> {
    const known = this.#resources.get(resource);
    if (known === undefined) return none;
    const before = known.devices;
    known.devices = devices;
    const ids = (healthy: boolean): ReadonlySet<string> =>
      new Set([...devices.values()].filter((device) => device.healthy === healthy).map(({ id }) => id));
    known.healthy = ids(true);
    known.unhealthy = ids(false);
    return new Set([...devices].filter(([id, { healthy }]) => before.get(id)?.healthy !== healthy).map(([id]) => id));
  }

  /** Forgets resources whose plugins were gone for too long. @returns which */
  collect(nowMs: number): readonly string[] {
    const gone: string[] = [];
    for (const [name, { stoppedAtMs, healthy, unhealthy }] of this.#resources) {
      if (stoppedAtMs === undefined || nowMs - stoppedAtMs <= STOP_GRACE_PERIOD_MS) continue;
      this.#resources.delete(name);
      if (healthy !== undefined || unhealthy !== undefined) this.#removed.add(name);
      gone.push(name);
    }
    return gone;
  }

  counts(): DeviceCounts {
    const capacity = new Map<string, number>();
    const allocatable = new Map<string, number>();
    for (const [name, { healthy, unhealthy }] of this.#resources) {
      if (healthy !== undefined) allocatable.set(name, healthy.size);
      if (healthy !== undefined || unhealthy !== undefined) {
        capacity.set(name, (healthy?.size ?? 0) + (unhealthy?.size ?? 0));
      }
    }
    return { capacity, allocatable, removed: [...this.#removed] };
  }

  /** Whether there is a plugin for it, or was not long ago. */
  has(resource: string): boolean {
    return this.#resources.has(resource);
  }

  devices(resource: string): ReadonlyMap<string, Device> | undefined {
    return this.#resources.get(resource)?.devices;
  }

  /** `undefined` where no plugin has told any, in this process or an earlier one. */
  healthy(resource: string): ReadonlySet<string> | undefined {
    return this.#resources.get(resource)?.healthy;
  }

  /** What the next process is to know: the resources of which devices were told, with their healthy ones in order. */
  registered(): ReadonlyMap<string, readonly string[]> {
    const told = [...this.#resources].flatMap(([name, { healthy }]) =>
      healthy === undefined ? [] : [[name, [...healthy].sort()] as const],
    );
    return new Map(told.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** The devices that containers may be given, by resource. */
  allocatable(): ReadonlyMap<string, readonly Device[]> {
    return new Map(
      [...this.#resources].flatMap(([name, { devices, healthy }]) =>
        healthy === undefined ? [] : [[name, [...devices.values()].filter(({ id }) => healthy.has(id))] as const],
      ),
    );
  }
}
