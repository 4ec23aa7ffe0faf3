import type { Clock } from '@node-agent/async';
import { FakeDevicePlugin } from '@node-agent/device-manager/testing';
import type { MemorySockets } from '@node-agent/grpc/testing';
import type { DevicePluginPlan, PluginFaultKind } from '../scenario/device-plans.ts';

/** Directory in which the kubelet and device plugins have their sockets. */
export const DEVICE_PLUGINS_DIRECTORY = '/var/lib/kubelet/device-plugins';

/** Interval of registration attempts. */
const RETRY_MS = 1000;

/** Returns the environment variable that lists a container's devices of a resource. */
export function devicesVariable(resource: string): string {
  return `DEVICES_${resource.replaceAll(/\W/g, '_')}`;
}

/** Processes beside the kubelet that offer devices and survive the kubelet. */
export class DevicePlugins {
  readonly sockets: MemorySockets;
  readonly #plugins: ReadonlyMap<string, SimulatedPlugin>;

  constructor(clock: Clock, sockets: MemorySockets, plans: readonly DevicePluginPlan[]) {
    this.sockets = sockets;
    this.#plugins = new Map(plans.map((plan) => [plan.resource, new SimulatedPlugin(clock, this.sockets, plan)]));
    this.sockets.onListening((path) => {
      if (path === `${DEVICE_PLUGINS_DIRECTORY}/kubelet.sock`) for (const plugin of this.#all) plugin.kubeletIsNew();
    });
  }

  get #all(): readonly SimulatedPlugin[] {
    return [...this.#plugins.values()];
  }

  /** Starts the processes of all device plugins. */
  async start(): Promise<void> {
    for (const plugin of this.#all) await plugin.start();
  }

  /** Makes a device healthy or unhealthy. */
  setHealth(resource: string, id: string, healthy: boolean): void {
    this.#plugins.get(resource)?.setHealth(id, healthy);
  }

  /** Kills the plugin's process until {@link restart} is called. */
  kill(resource: string): void {
    this.#plugins.get(resource)?.kill();
  }

  async restart(resource: string): Promise<void> {
    await this.#plugins.get(resource)?.start();
  }

  /** Makes Allocate fail or hang from now on. `undefined` ends the fault, and hanging calls complete. */
  misbehave(resource: string, fault: PluginFaultKind | undefined): void {
    this.#plugins.get(resource)?.misbehave(fault);
  }

  /** Starts all plugins, makes all devices healthy and ends all faults. */
  async cure(): Promise<void> {
    for (const plugin of this.#all) await plugin.cure();
  }
}

class SimulatedPlugin {
  readonly #clock: Clock;
  readonly #sockets: MemorySockets;
  readonly #plan: DevicePluginPlan;
  readonly #ill = new Set<string>();
  #fault: PluginFaultKind | undefined;
  #curing = Promise.withResolvers<void>();
  #process: FakeDevicePlugin | undefined;

  constructor(clock: Clock, sockets: MemorySockets, plan: DevicePluginPlan) {
    this.#clock = clock;
    this.#sockets = sockets;
    this.#plan = plan;
  }

  async start(): Promise<void> {
    if (this.#process !== undefined) return;
    const { resource, preStart = false } = this.#plan;
    const process = new FakeDevicePlugin(
      {
        ...{ resource, directory: DEVICE_PLUGINS_DIRECTORY, transport: this.#sockets, clock: this.#clock },
        options: { preStartRequired: preStart },
        allocate: (ids) => this.#allocate(ids),
      },
      this.#devices(),
    );
    this.#process = process;
    await process.start();
    this.#registerLater(process, this.#plan.registersAfterMs);
  }

  kubeletIsNew(): void {
    if (this.#process !== undefined) this.#registerLater(this.#process, this.#plan.registersAfterMs);
  }

  kill(): void {
    this.#process?.stop();
    this.#process = undefined;
  }

  setHealth(id: string, healthy: boolean): void {
    if (healthy) this.#ill.delete(id);
    else this.#ill.add(id);
    this.#process?.setDevices(this.#devices());
  }

  misbehave(fault: PluginFaultKind | undefined): void {
    this.#fault = fault;
    if (fault !== undefined) return;
    this.#curing.resolve();
    this.#curing = Promise.withResolvers<void>();
  }

  async cure(): Promise<void> {
    this.misbehave(undefined);
    this.#ill.clear();
    this.#process?.setDevices(this.#devices());
    await this.start();
  }

  #registerLater(process: FakeDevicePlugin, delayMs: number): void {
    this.#clock.setTimer(delayMs, () => {
      // Without a kubelet the plugin cannot register. The plugin detects the start of the next kubelet.
      if (this.#process !== process || !this.#sockets.isListening(`${DEVICE_PLUGINS_DIRECTORY}/kubelet.sock`)) return;
      process.register().catch(() => this.#registerLater(process, RETRY_MS));
    });
  }

  async #allocate(ids: readonly string[]): Promise<{ readonly envs: Readonly<Record<string, string>> }> {
    if (this.#fault === 'error') throw new Error('device is not available');
    if (this.#fault === 'hang') await this.#curing.promise;
    return { envs: { [devicesVariable(this.#plan.resource)]: ids.toSorted().join() } };
  }

  #devices(): ConstructorParameters<typeof FakeDevicePlugin>[1] {
    const { numaNodes } = this.#plan;
    return deviceNames(this.#plan).map((ID, index) => ({
      ...{ ID, health: this.#ill.has(ID) ? 'Unhealthy' : 'Healthy' },
      ...(numaNodes !== undefined && { topology: { nodes: [{ ID: index % numaNodes }] } }),
    }));
  }
}

function deviceNames({ count }: DevicePluginPlan): readonly string[] {
  return Array.from({ length: count }, (_, index) => `d${index}`);
}
