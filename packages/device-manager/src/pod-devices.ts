import type { Pod } from '@node-agent/pod-spec';
import { type DevicesByNuma, deviceIds } from './device.ts';
import type { ContainerAllocateResponse } from './generated/types.ts';
import { HeldDevices } from './held-devices.ts';

/** Devices of one resource that a container holds. */
interface DeviceGrant {
  readonly devices: DevicesByNuma;
  /** The plugin's response to their allocation. */
  readonly response: ContainerAllocateResponse;
}

/** An allocation with its pod and container. */
export interface HeldGrant extends DeviceGrant {
  readonly podUid: string;
  readonly container: string;
  readonly resource: string;
}

type ByResource = Map<string, DeviceGrant>;
type ByContainer = Map<string, ByResource>;

/** Devices held by containers (`pkg/kubelet/cm/devicemanager/pod_devices.go`). */
export class PodDevices {
  readonly #pods = new Map<string, ByContainer>();
  readonly #held = new HeldDevices();

  set({ podUid, container, resource, devices, response }: HeldGrant): void {
    const containers = this.#pods.get(podUid) ?? new Map<string, ByResource>();
    const resources = containers.get(container) ?? new Map<string, DeviceGrant>();
    const before = resources.get(resource);
    if (before !== undefined) this.#held.remove(resource, before.devices);
    this.#held.add(resource, devices);
    resources.set(resource, { devices, response });
    containers.set(container, resources);
    this.#pods.set(podUid, containers);
  }

  remove(podUid: string): void {
    for (const { resource, devices } of this.ofPod(podUid)) this.#held.remove(resource, devices);
    this.#pods.delete(podUid);
  }

  has(podUid: string): boolean {
    return this.#pods.has(podUid);
  }

  uids(): readonly string[] {
    return [...this.#pods.keys()];
  }

  /** Returns a container's devices by resource; empty if it holds none. */
  ofContainer(podUid: string, container: string): ReadonlyMap<string, DeviceGrant> {
    return this.#pods.get(podUid)?.get(container) ?? new Map<string, DeviceGrant>();
  }

  /**
   * Returns a container's devices of a resource; `undefined` if nothing was allocated, which differs from an allocation
   * of no devices.
   */
  devices(podUid: string, container: string, resource: string): ReadonlySet<string> | undefined {
    const grant = this.ofContainer(podUid, container).get(resource);
    return grant && deviceIds(grant.devices);
  }

  /** Returns all devices of a resource that a pod's containers hold. */
  ofPodAndResource(podUid: string, resource: string): ReadonlySet<string> {
    const grants = this.ofPod(podUid).filter((grant) => grant.resource === resource);
    return new Set(grants.flatMap(({ devices }) => [...deviceIds(devices)]));
  }

  ofPod(podUid: string): readonly HeldGrant[] {
    return [...(this.#pods.get(podUid) ?? [])].flatMap(([container, resources]) =>
      [...resources].map(([resource, grant]) => ({ podUid, container, resource, ...grant })),
    );
  }

  /** Returns all allocations, sorted by pod, container and resource. */
  all(): readonly HeldGrant[] {
    return this.uids()
      .toSorted()
      .flatMap((uid) => this.ofPod(uid).toSorted(byContainerAndResource));
  }

  /** Returns all held devices, by resource. Later changes are visible in the returned sets. */
  held(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#held.ids();
  }

  /** Returns the resources that have an allocation. */
  resources(): ReadonlySet<string> {
    return new Set(this.#held.ids().keys());
  }

  /** Returns the pods that hold any of these devices. */
  holdersOf(resource: string, ids: ReadonlySet<string>): readonly string[] {
    if (ids.size === 0) return [];
    return this.uids().filter((uid) =>
      this.ofPod(uid).some((one) => one.resource === resource && [...deviceIds(one.devices)].some((id) => ids.has(id))),
    );
  }
}

function byContainerAndResource(a: HeldGrant, b: HeldGrant): number {
  const [one, other] = a.container === b.container ? [a.resource, b.resource] : [a.container, b.container];
  return one < other ? -1 : 1;
}

/**
 * Returns the devices that a container may reuse from other containers of its pod: those of init containers that finish
 * before it starts. Devices of sidecars and other containers are not reused (`devicesToReuse`,
 * `pkg/kubelet/cm/devicemanager/manager.go`).
 */
export function reusableDevices(
  pod: Pod,
  containerName: string,
  resource: string,
  held: PodDevices,
): ReadonlySet<string> {
  const { initContainers = [], containers } = pod.spec;
  const devicesOf = (name: string): Iterable<string> => held.devices(pod.metadata.uid, name, resource) ?? [];
  const at = initContainers.findIndex(({ name }) => name === containerName);
  const before = at < 0 ? initContainers : initContainers.slice(0, at);
  const reusable = new Set<string>();
  for (const { name, restartPolicy } of before) {
    if (restartPolicy !== 'Always') for (const id of devicesOf(name)) reusable.add(id);
  }
  const kept = [...initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always'), ...containers];
  for (const { name } of kept) {
    if (name !== containerName) for (const id of devicesOf(name)) reusable.delete(id);
  }
  return reusable;
}
