import type { Observation } from '../observation.ts';
import type { PodPlan } from '../scenario/plans.ts';
import { DEVICE_PLUGINS_DIRECTORY } from '../world/device-plugins.ts';

/** The kubelet's checkpoint of device allocations. */
const HOLDERS_FILE = `${DEVICE_PLUGINS_DIRECTORY}/kubelet_internal_checkpoint`;

/** Devices allocated to a container, according to the kubelet's checkpoint. */
export interface HeldDevices {
  readonly uid: string;
  readonly container: string;
  readonly resource: string;
  readonly ids: readonly string[];
}

/** Device allocations that the kubelet has stored, and faults of device plugins. */
export class DeviceFacts {
  /** Times at which resources were first registered by a device plugin, with any kubelet. */
  readonly #registeredAtMs = new Map<string, number>();
  /** Times until which a fault may keep a plugin from providing its devices. */
  readonly #troubledUntilMs = new Map<string, number>();
  /** Times at which a kubelet first synced each pod. */
  readonly #begunAtMs = new Map<string, number>();
  #hangsUntilMs = -1;
  /** Device allocations that the kubelet last stored. */
  held: readonly HeldDevices[] = [];

  /**
   * Time since which a kubelet knows that the resource belongs to a device plugin; `Infinity` if no kubelet knows it.
   */
  registeredAtMs(resource: string): number {
    return this.#registeredAtMs.get(resource) ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Reports whether a pod may have been admitted before any device plugin had registered the resources that the pod
   * requests. A pod that was admitted so may never get devices, because admission did not check whether any were free.
   * @param cameAtMs earliest time at which the pod was added; a pod that waits for its name is admitted before it
   * starts
   */
  wasLetInBlindly({ uid, devices = {} }: PodPlan, cameAtMs: number = Number.POSITIVE_INFINITY): boolean {
    const begunAtMs = Math.min(cameAtMs, this.#begunAtMs.get(uid) ?? Number.POSITIVE_INFINITY);
    const resources = new Set(Object.values(devices).flatMap((asked) => Object.keys(asked)));
    return [...resources].some((resource) => this.registeredAtMs(resource) >= begunAtMs);
  }

  /** Time until which a plugin may have been down, unhealthy or faulty; -1 if the plugin never was. */
  troubledUntilMs(resource: string): number {
    return this.#troubledUntilMs.get(resource) ?? -1;
  }

  /** Time until which any plugin hangs; -1 if no plugin ever hung. */
  get hangsUntilMs(): number {
    return this.#hangsUntilMs;
  }

  observe(observation: Observation): void {
    if (observation.kind === 'action') {
      const { action } = observation;
      if (action.do !== 'deviceIll' && action.do !== 'restartPlugin' && action.do !== 'pluginFault') return;
      const untilMs = observation.atMs + ('forMs' in action ? action.forMs : action.downMs);
      this.#troubledUntilMs.set(action.resource, Math.max(this.troubledUntilMs(action.resource), untilMs));
      if (action.do === 'pluginFault' && action.fault === 'hang')
        this.#hangsUntilMs = Math.max(this.#hangsUntilMs, untilMs);
    } else if (observation.kind === 'stepBegan') {
      if (!this.#begunAtMs.has(observation.uid)) this.#begunAtMs.set(observation.uid, observation.atMs);
    } else if (observation.kind === 'call') {
      const { port, name, args } = observation.call;
      if (port === 'fs' && name === 'writeFileAtomic' && args[0] === HOLDERS_FILE) {
        this.#onWritten(String(args[1]), observation.atMs);
      }
    }
  }

  #onWritten(text: string, atMs: number): void {
    const { PodDeviceEntries, RegisteredDevices } = (JSON.parse(text) as { readonly Data: Data }).Data;
    this.held = (PodDeviceEntries ?? []).map(({ PodUID, ContainerName, ResourceName, DeviceIDs }) => ({
      ...{ uid: PodUID, container: ContainerName, resource: ResourceName },
      ids: Object.values(DeviceIDs).flat(),
    }));
    const registered = Object.keys(RegisteredDevices ?? {});
    for (const resource of registered) {
      if (!this.#registeredAtMs.has(resource)) this.#registeredAtMs.set(resource, atMs);
    }
    for (const resource of this.#registeredAtMs.keys()) {
      if (!registered.includes(resource)) this.#registeredAtMs.delete(resource);
    }
  }
}

interface Data {
  readonly PodDeviceEntries:
    | readonly {
        readonly PodUID: string;
        readonly ContainerName: string;
        readonly ResourceName: string;
        readonly DeviceIDs: Readonly<Record<string, readonly string[]>>;
      }[]
    | null;
  readonly RegisteredDevices: Readonly<Record<string, readonly string[] | null>> | null;
}
