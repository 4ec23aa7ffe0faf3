import type { Observation } from '../observation.ts';
import type { PodPlan } from '../scenario/plans.ts';
import { DEVICE_PLUGINS_DIRECTORY } from '../world/device-plugins.ts';

/** The kubelet's file of who holds which devices. */
const HOLDERS_FILE = `${DEVICE_PLUGINS_DIRECTORY}/kubelet_internal_checkpoint`;

/** Devices that a container holds, by the kubelet's file. */
export interface HeldDevices {
  readonly uid: string;
  readonly container: string;
  readonly resource: string;
  readonly ids: readonly string[];
}

/** What the kubelet has written of devices, and what was done to their plugins. */
export class DeviceFacts {
  /** Since when a resource is one of a device plugin's, for all kubelets. */
  readonly #registeredAtMs = new Map<string, number>();
  /** When the last thing was over that may keep a plugin from giving what it has; -1 where there was none. */
  readonly #troubledUntilMs = new Map<string, number>();
  /** When a kubelet first worked on a pod. */
  readonly #begunAtMs = new Map<string, number>();
  #hangsUntilMs = -1;
  /** As it was written last. */
  held: readonly HeldDevices[] = [];

  /** Since when a kubelet knows that a resource is one of a device plugin's; infinite where it does not. */
  registeredAtMs(resource: string): number {
    return this.#registeredAtMs.get(resource) ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Whether a pod was let in before it was known that what it asks for are devices: it may never get them then, as it was not asked
   * whether there are any left.
   * @param cameAtMs when it came at the earliest, where it may have waited for its name since: it is let in before that
   */
  wasLetInBlindly({ uid, devices = {} }: PodPlan, cameAtMs: number = Number.POSITIVE_INFINITY): boolean {
    const begunAtMs = Math.min(cameAtMs, this.#begunAtMs.get(uid) ?? Number.POSITIVE_INFINITY);
    const resources = new Set(Object.values(devices).flatMap((asked) => Object.keys(asked)));
    return [...resources].some((resource) => this.registeredAtMs(resource) >= begunAtMs);
  }

  /** Until when a plugin may have been away, ill or wrong; -1 where it never was. */
  troubledUntilMs(resource: string): number {
    return this.#troubledUntilMs.get(resource) ?? -1;
  }

  /** Until when some plugin does not answer; -1 where that was never so. */
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
