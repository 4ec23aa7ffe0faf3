import { jsonBytes } from './checkpoint-format.ts';
import type { Device } from './device.ts';

/** For how long a plugin that is gone may come back before its resource is taken from the node (`endpointStopGracePeriod`). */
const STOP_GRACE_PERIOD_MS = 5 * 60_000;

/**
 * A node's status has each resource twice, with a name of up to 317 characters: so many of them leave most of the 1.5 MiB that etcd takes
 * to what else it says. Upstream has no bound.
 */
export const MAX_RESOURCES = 256;

/**
 * Names of devices, as they are written for each NUMA node: a small part of what a checkpoint may have, as that is made in one go. As much as gRPC takes
 * in one message, so that no plugin's list is refused which upstream takes: those that offer the memory of GPUs by the MiB fill one, with some
 * 60,000 devices, and a node has no two of their kind.
 */
const MAX_NAMES_BYTES = 4 * 1024 * 1024;

/** How many devices of each resource a node has. */
export interface DeviceCounts {
  readonly capacity: ReadonlyMap<string, number>;
  readonly allocatable: ReadonlyMap<string, number>;
  /** Resources that are gone: the node has none of them. Told until the node's status has said so. */
  readonly removed: readonly string[];
}

interface Resource {
  /** As the plugin told them last: it may be gone since. */
  devices: ReadonlyMap<string, Device>;
  /** Of their names, as they are written once for each NUMA node. */
  namesBytes: number;
  /** Those that may be given to containers; `undefined` where no plugin has told any. */
  healthy: ReadonlySet<string> | undefined;
  unhealthy: ReadonlySet<string> | undefined;
  /** Monotonic; `undefined` while there is a plugin. */
  stoppedAtMs: number | undefined;
  /** Since when the plugin of an earlier process's resource is awaited (monotonic); `undefined` once it has told its devices. */
  awaitedSinceMs?: number | undefined;
}

const none: ReadonlySet<string> = new Set();

/** The devices that plugins have, or had (`pkg/kubelet/cm/devicemanager/manager.go`: allDevices, healthyDevices, unhealthyDevices, endpoints). */
export class DeviceInventory {
  readonly #resources = new Map<string, Resource>();
  readonly #removed = new Set<string>();
  #revision = 0;

  /** An earlier process knew the resource: it counts as one whose plugin has just gone. */
  restored(resource: string, nowMs: number): void {
    const known = {
      devices: new Map(),
      namesBytes: 0,
      healthy: none,
      unhealthy: none,
      stoppedAtMs: nowMs,
      awaitedSinceMs: nowMs,
    };
    this.#resources.set(resource, known);
    this.#revision++;
  }

  /** A plugin offers the resource. What was known of its devices holds until it tells them. */
  plugged(resource: string): void {
    const known = this.#resources.get(resource);
    const unknown = { devices: new Map(), namesBytes: 0, healthy: undefined, unhealthy: undefined };
    this.#resources.set(resource, { ...(known ?? unknown), stoppedAtMs: undefined });
    this.#removed.delete(resource);
  }

  /** The plugin is gone: none of its devices may be given to a container. */
  unplugged(resource: string, nowMs: number): void {
    const known = this.#resources.get(resource);
    if (known === undefined) return;
    known.unhealthy = new Set([...(known.unhealthy ?? []), ...(known.healthy ?? [])]);
    if (known.healthy !== undefined) this.#setHealthy(known, none);
    known.stoppedAtMs = nowMs;
  }

  /** All devices that there are now. @returns those that came, or whose health is another @throws Error where there are too many */
  update(resource: string, devices: ReadonlyMap<string, Device>): ReadonlySet<string> {
    const known = this.#resources.get(resource);
    if (known === undefined) return none;
    const namesBytes = bytesOfNames(devices.values());
    const others = [...this.#resources].reduce((sum, [name, one]) => sum + (name === resource ? 0 : one.namesBytes), 0);
    if (namesBytes + others > MAX_NAMES_BYTES) {
      const amounts = `its ${devices.size} devices have names of ${namesBytes} bytes`;
      throw new Error(`${amounts}, and with those of other plugins no more than ${MAX_NAMES_BYTES} are taken`);
    }
    const before = known.devices;
    known.devices = devices;
    known.awaitedSinceMs = undefined;
    known.namesBytes = namesBytes;
    const ids = (healthy: boolean): ReadonlySet<string> =>
      new Set([...devices.values()].filter((device) => device.healthy === healthy).map(({ id }) => id));
    this.#setHealthy(known, ids(true));
    known.unhealthy = ids(false);
    return new Set([...devices].filter(([id, { healthy }]) => before.get(id)?.healthy !== healthy).map(([id]) => id));
  }

  /** Forgets resources whose plugins were gone for too long. @returns which */
  collect(nowMs: number): readonly string[] {
    const gone: string[] = [];
    for (const [name, { stoppedAtMs, healthy, unhealthy }] of this.#resources) {
      if (stoppedAtMs === undefined || nowMs - stoppedAtMs <= STOP_GRACE_PERIOD_MS) continue;
      this.#resources.delete(name);
      this.#revision++;
      if (healthy !== undefined || unhealthy !== undefined) this.#removed.add(name);
      gone.push(name);
    }
    // Where nobody writes a node's status, nobody reads them.
    for (const name of [...this.#removed].slice(0, -MAX_RESOURCES)) this.#removed.delete(name);
    return gone;
  }

  /** The node's status says that these are gone: whoever else has some of them may say so there. */
  reported(removed: readonly string[]): void {
    for (const name of removed) this.#removed.delete(name);
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

  /** How many resources there are a plugin for, or were not long ago. */
  get size(): number {
    return this.#resources.size;
  }

  /** Whether there is a plugin for it, or was not long ago. */
  has(resource: string): boolean {
    return this.#resources.has(resource);
  }

  /**
   * Since when the resource's plugin is awaited (monotonic): an earlier process knew the resource, and the plugin has told no devices to this
   * one. `undefined` for all other resources.
   */
  awaitedSinceMs(resource: string): number | undefined {
    return this.#resources.get(resource)?.awaitedSinceMs;
  }

  devices(resource: string): ReadonlyMap<string, Device> | undefined {
    return this.#resources.get(resource)?.devices;
  }

  /** `undefined` where no plugin has told any, in this process or an earlier one. */
  healthy(resource: string): ReadonlySet<string> | undefined {
    return this.#resources.get(resource)?.healthy;
  }

  /** Another number once {@link registered} says something else. */
  get revision(): number {
    return this.#revision;
  }

  /** What the next process is to know: the resources of which devices were told, with their healthy ones in order. */
  registered(): ReadonlyMap<string, readonly string[]> {
    const told = [...this.#resources].flatMap(([name, { healthy }]) =>
      healthy === undefined ? [] : [[name, [...healthy].sort()] as const],
    );
    return new Map(told.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #setHealthy(known: Resource, healthy: ReadonlySet<string>): void {
    const { healthy: before } = known;
    known.healthy = healthy;
    if (before?.size !== healthy.size || [...healthy].some((id) => !before.has(id))) this.#revision++;
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

function bytesOfNames(devices: Iterable<Device>): number {
  let bytes = 0;
  for (const { id, numaNodes } of devices) bytes += (jsonBytes(id) + 1) * Math.max(1, numaNodes.length);
  return bytes;
}
