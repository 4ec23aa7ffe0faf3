import { jsonBytes } from './checkpoint-format.ts';
import type { Device } from './device.ts';

/** Time for which a plugin may be gone before its resource is removed from the node (`endpointStopGracePeriod`). */
const STOP_GRACE_PERIOD_MS = 5 * 60_000;

/**
 * Maximum number of resources. The Node status contains each resource twice, with a name of up to 317 characters; this
 * limit leaves most of etcd's 1.5 MiB to the rest of the status. Upstream does not limit the number of resources.
 */
export const MAX_RESOURCES = 256;

/**
 * Maximum total size of device ids, counted once for each NUMA node: a small part of the checkpoint's limit, because
 * the checkpoint is serialized in one step that blocks the process. The limit equals gRPC's message limit, so that
 * every list of a single plugin that upstream accepts is accepted here. A plugin that offers GPU memory by the MiB
 * fills one message with some 60,000 devices, and a node has at most one such plugin.
 */
const MAX_NAMES_BYTES = 4 * 1024 * 1024;

/** Device counts of each resource. */
export interface DeviceCounts {
  readonly capacity: ReadonlyMap<string, number>;
  readonly allocatable: ReadonlyMap<string, number>;
  /** Resources that are gone, reported until the node's status has been written. */
  readonly removed: readonly string[];
}

interface Resource {
  /** Devices as last reported by the plugin, which may be gone since. */
  devices: ReadonlyMap<string, Device>;
  /** Size of the device ids, counted once for each NUMA node. */
  namesBytes: number;
  /** Ids of allocatable devices; `undefined` if no plugin has reported any. */
  healthy: ReadonlySet<string> | undefined;
  unhealthy: ReadonlySet<string> | undefined;
  /** Monotonic time at which the plugin was lost; `undefined` while there is a plugin. */
  stoppedAtMs: number | undefined;
  /**
   * Monotonic time since when the plugin of a resource of an earlier process is awaited; `undefined` once the plugin
   * has reported its devices.
   */
  awaitedSinceMs?: number | undefined;
}

const none: ReadonlySet<string> = new Set();

/**
 * Devices that plugins have, or had (`pkg/kubelet/cm/devicemanager/manager.go`: allDevices, healthyDevices,
 * unhealthyDevices, endpoints).
 */
export class DeviceInventory {
  readonly #resources = new Map<string, Resource>();
  readonly #removed = new Set<string>();
  #revision = 0;

  /** Adds a resource of an earlier process, as if its plugin had just been lost. */
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

  /**
   * Records that a plugin offers the resource. The devices that are known of the resource stay until the plugin reports
   * its devices.
   */
  plugged(resource: string): void {
    const known = this.#resources.get(resource);
    const unknown = { devices: new Map(), namesBytes: 0, healthy: undefined, unhealthy: undefined };
    this.#resources.set(resource, { ...(known ?? unknown), stoppedAtMs: undefined });
    this.#removed.delete(resource);
  }

  /** Records that the plugin was lost: none of its devices may be allocated. */
  unplugged(resource: string, nowMs: number): void {
    const known = this.#resources.get(resource);
    if (known === undefined) return;
    known.unhealthy = new Set([...(known.unhealthy ?? []), ...(known.healthy ?? [])]);
    if (known.healthy !== undefined) this.#setHealthy(known, none);
    known.stoppedAtMs = nowMs;
  }

  /**
   * Replaces the devices of a resource. @returns the new devices, and those whose health has changed @throws Error if
   * all device names together are too long
   */
  update(resource: string, devices: ReadonlyMap<string, Device>): ReadonlySet<string> {
    const known = this.#resources.get(resource);
    if (known === undefined) return none;
    const namesBytes = bytesOfNames(devices.values());
    const others = [...this.#resources].reduce((sum, [name, one]) => sum + (name === resource ? 0 : one.namesBytes), 0);
    if (namesBytes + others > MAX_NAMES_BYTES) {
      const amounts = `its ${devices.size} devices have names of ${namesBytes} bytes`;
      throw new Error(`${amounts}, and with those of other plugins at most ${MAX_NAMES_BYTES} are accepted`);
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

  /** Removes resources whose plugins were lost too long ago. @returns the removed resources */
  collect(nowMs: number): readonly string[] {
    const gone: string[] = [];
    for (const [name, { stoppedAtMs, healthy, unhealthy }] of this.#resources) {
      if (stoppedAtMs === undefined || nowMs - stoppedAtMs <= STOP_GRACE_PERIOD_MS) continue;
      this.#resources.delete(name);
      this.#revision++;
      if (healthy !== undefined || unhealthy !== undefined) this.#removed.add(name);
      gone.push(name);
    }
    // If no node status is written, nothing consumes this set, so it is limited.
    for (const name of [...this.#removed].slice(0, -MAX_RESOURCES)) this.#removed.delete(name);
    return gone;
  }

  /** Records that the node's status reported these resources as gone; another writer may now set them. */
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

  /** Number of resources with a plugin, or with one that was lost recently. */
  get size(): number {
    return this.#resources.size;
  }

  /** Returns whether the resource has a plugin, or one that was lost recently. */
  has(resource: string): boolean {
    return this.#resources.has(resource);
  }

  /**
   * Returns the monotonic time since when the resource's plugin is awaited: an earlier process knew the resource, and
   * the plugin has not reported devices to this process. Returns `undefined` for all other resources.
   */
  awaitedSinceMs(resource: string): number | undefined {
    return this.#resources.get(resource)?.awaitedSinceMs;
  }

  devices(resource: string): ReadonlyMap<string, Device> | undefined {
    return this.#resources.get(resource)?.devices;
  }

  /** Returns the healthy devices; `undefined` if no plugin has reported any, in this process or an earlier one. */
  healthy(resource: string): ReadonlySet<string> | undefined {
    return this.#resources.get(resource)?.healthy;
  }

  /** Number that changes whenever the result of {@link registered} changes. */
  get revision(): number {
    return this.#revision;
  }

  /** Returns the state for the checkpoint: resources with reported devices, and their healthy devices, sorted. */
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

  /** Returns the allocatable devices, by resource. */
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
