import { posix } from 'node:path';
import { type Clock, checkComponents, checkOptions, OptionsError, StartOnce } from '@node-agent/async';
import { type GrpcTransport, unixSockets } from '@node-agent/grpc';
import type { FileSystem } from '@node-agent/host';
import {
  type Container,
  type ContainerStatus,
  isExtendedResource,
  type Pod,
  type ResourceListJson,
} from '@node-agent/pod-spec';
import { errorText, type Logger, type Metrics, withDefaults } from '@node-agent/telemetry';
import { Allocator } from './allocator.ts';
import { type ContainerDevices, joinAnswers } from './container-devices.ts';
import { type Device, type DevicesByNuma, deviceIds } from './device.ts';
import { DeviceRecord } from './device-record.ts';
import { atLeastHeld, type DeviceResources, deviceResources } from './device-resources.ts';
import { DeviceError } from './errors.ts';
import type { RegisterRequest } from './generated/types.ts';
import { DeviceInventory } from './inventory.ts';
import { type DeviceMetrics, deviceMetrics, forgetSeries } from './metrics.ts';
import { type NotedWait, unnoted } from './noted-wait.ts';
import { PodDevices } from './pod-devices.ts';
import { foundProblem, Plugins } from './registration.ts';
import { RegistrationServer } from './registration-server.ts';
import { resourcesStatus } from './resource-status.ts';
import { UndecidedPods } from './undecided.ts';

/** Whose devices are given. */
export interface DevicePods {
  /** Those that hold resources of the node (N1). */
  active(): readonly Pod[];
  /** Whether a container of a pod that is not active may still run: it keeps its devices until none may; no by default. */
  mayRun?(uid: string): boolean;
  /** Whether all that should run here is known: nobody's devices are taken back before. */
  sourcesReady(): boolean;
}

/** What {@link DeviceManager} works with. */
export interface DeviceManagerComponents {
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly metrics?: Metrics;
  readonly fs: Pick<FileSystem, 'mkdir' | 'open' | 'readdir' | 'remove' | 'stat' | 'writeFileAtomic'>;
  readonly pods: DevicePods;
  /** How plugins and kubelet reach each other: gRPC on unix sockets by default. */
  readonly transport?: GrpcTransport;
  /** Told of what a container waits for; nobody is by default. */
  readonly noted?: NotedWait;
  /** Gives a directory the label by which containers may use it, on a node with SELinux. Directories keep theirs where absent. */
  readonly labelForContainers?: (directory: string) => Promise<void>;
  /** The node has more devices, or fewer. */
  readonly onResourcesChanged?: () => void;
  /** A device of these pods is healthy now, or is not: their statuses say so. */
  readonly onHealthChanged?: (podUids: readonly string[]) => void;
}

/** Where a {@link DeviceManager} meets its plugins. */
export interface DeviceManagerOptions {
  /** Where the sockets are, and the checkpoint: `<root>/device-plugins`. An absolute path. */
  readonly directory: string;
  /**
   * How long a new pod waits for the plugin of a resource that the node had before the kubelet was started, in milliseconds from that start;
   * 120,000 by default. 0 refuses the pod at once, as upstream does.
   */
  readonly pluginWaitMs?: number;
}

/** A plugin that runs in a pod of its own has its image, and is up again by then. */
const PLUGIN_WAIT_MS = 120_000;

/** Whether a pod may run here; of the shape of kubelet-core's. */
export type DeviceVerdict =
  | { readonly admit: true }
  | { readonly admit: false; readonly reason: string; readonly message: string };

/**
 * The devices of a node: which there are, who holds which, and what containers get of them (`pkg/kubelet/cm/devicemanager`). Devices are
 * given when a pod is admitted, and are its until it is gone; who holds what is on disk before anything starts. NUMA nodes are kept
 * for others to see; without a topology manager no device is chosen for its place.
 */
export class DeviceManager {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #metrics: DeviceMetrics;
  readonly #components: DeviceManagerComponents;
  readonly #inventory = new DeviceInventory();
  readonly #held = new PodDevices();
  readonly #undecided = new UndecidedPods();
  readonly #plugins: Plugins;
  readonly #allocator: Allocator;
  readonly #record: DeviceRecord;
  readonly #server: RegistrationServer;
  readonly #startOnce = new StartOnce('DeviceManager');

  /** @throws OptionsError naming the component or option that is wrong */
  constructor(components: DeviceManagerComponents, options: DeviceManagerOptions) {
    checkOptions('DeviceManager', options, { directory: 'string', pluginWaitMs: 'notNegative?' });
    checkComponents('DeviceManager', components, {
      fs: ['mkdir', 'open', 'readdir', 'remove', 'writeFileAtomic', 'stat'],
      pods: ['active', 'sourcesReady'],
    });
    if (!posix.isAbsolute(options.directory)) {
      const problem = `directory: want an absolute path, got ${JSON.stringify(options.directory)}`;
      throw new OptionsError('DeviceManager', 'directory', problem);
    }
    // Endpoints are compared with it: without a slash at the end, or a way back.
    const directory = posix.resolve(options.directory);
    const { pluginWaitMs = PLUGIN_WAIT_MS } = options;
    const { clock, logger, metrics, transport = unixSockets, noted = unnoted } = withDefaults(components);
    const { fs } = components;
    const [inventory, held] = [this.#inventory, this.#held];
    this.#clock = clock;
    this.#logger = logger;
    this.#metrics = deviceMetrics(metrics);
    this.#components = components;
    this.#record = new DeviceRecord({ clock, logger, fs, inventory, held }, directory);
    this.#plugins = new Plugins(
      { clock, logger, transport, known: inventory },
      {
        asked: (resource) => this.#metrics.registrations.inc({ resource_name: resource }),
        plugged: (resource) => inventory.plugged(resource),
        told: (resource, devices) => this.#told(resource, devices),
        unplugged: (resource) => this.#changing(() => inventory.unplugged(resource, clock.monotonic())),
        forgotten: (resource) => forgetSeries(this.#metrics, resource),
      },
    );
    const register = (asked: RegisterRequest, signal: AbortSignal) => this.#plugins.register(directory, asked, signal);
    const { labelForContainers } = components;
    this.#server = new RegistrationServer({ clock, logger, fs, transport, register, labelForContainers }, directory);
    this.#allocator = new Allocator({
      ...{ clock, noted, metrics: this.#metrics, inventory, held, plugins: this.#plugins },
      undecided: this.#undecided,
      pluginWaitMs,
      freeGone: () => this.freeGone(),
      ending: () => this.#leaving().filter((uid) => this.#mayRun(uid)),
    });
  }

  /**
   * Reads who held what; whoever needs it does so first. Never rejects: where it cannot be read, that is logged and nobody holds
   * anything, as upstream has it.
   */
  load(): Promise<void> {
    return this.#record.load();
  }

  /** Listens to plugins until the signal is aborted. Where that fails it is tried again, and {@link health} tells why. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    this.#record.begin(signal);
    await this.load();
    this.#plugins.begin(signal);
    await this.#server.start(signal);
  }

  /** Resolves once {@link start} listens, so that plugins can register. @throws the signal's reason */
  async ready(signal?: AbortSignal): Promise<void> {
    await this.#server.ready(signal);
  }

  /** What is wrong, in upstream's words; `undefined` where nothing is. */
  health(): string | undefined {
    return this.#server.health();
  }

  /**
   * Gives a pod its devices, or refuses it. Answers at once where it asks for none. Of the shape of an `AdmitHandler` of kubelet-core:
   * what is given is on disk when it answers, and is taken back by {@link release}.
   */
  admit(pod: Pod, _others: readonly Pod[], signal: AbortSignal): DeviceVerdict | Promise<DeviceVerdict> {
    const limits = containersOf(pod).flatMap(({ resources }) => Object.keys(resources?.limits ?? {}));
    return limits.some(isExtendedResource) ? this.#admit(pod, signal) : { admit: true };
  }

  /** The pod that was admitted is to run: its devices are its own. */
  admitted({ metadata: { uid } }: Pod): void {
    this.#undecided.end(uid);
  }

  /** The pod that was admitted is not to run after all. */
  release({ metadata: { uid } }: Pod): void {
    const before = this.#undecided.end(uid);
    if (before === undefined) return;
    this.#held.remove(uid);
    for (const grant of before) this.#held.set(grant);
    this.#record.writeSoon();
  }

  /**
   * What a container is made with (`GetDeviceRunContainerOptions`). Called before each time that it is created: a plugin that wants so is
   * told that it is about to start, and one that has no devices yet, though it asks for some, is given them. One of a pod that is on its way
   * out is given none, and is refused: upstream starts it without.
   * @throws DeviceError, GrpcError
   */
  async containerDevices(pod: Pod, container: Container, signal: AbortSignal): Promise<ContainerDevices> {
    const { uid } = pod.metadata;
    await this.load();
    let missing = false;
    for (const [resource, required] of this.#allocator.demands(container)) {
      if (required === 0) continue;
      await this.#allocator.preStart(uid, container.name, resource, signal);
      if (this.#held.devices(uid, container.name, resource) !== undefined) continue;
      if (!this.#components.pods.active().some(({ metadata }) => metadata.uid === uid)) {
        throw new DeviceError('Refused', `the pod is leaving, and has no ${resource} for container ${container.name}`);
      }
      missing = true;
    }
    if (missing) {
      const fields = { podUid: uid, container: container.name };
      this.#logger.info(fields, 'Needs to re-allocate device plugin resources for pod');
      if (await this.#allocator.allocate(pod, container, signal)) await this.#record.write();
    }
    const grants = [...this.#held.ofContainer(uid, container.name)].sort(([a], [b]) => (a < b ? -1 : 1));
    const answers = grants.map(([resource, { response }]) => [resource, response] as const);
    return joinAnswers(answers, this.#logger);
  }

  /** What the node's status says of devices. */
  resources(): DeviceResources {
    const gone = this.#inventory.collect(this.#clock.monotonic());
    for (const resource of gone) this.#plugins.forget(resource);
    if (gone.length > 0) this.#record.writeSoon();
    return deviceResources(this.#inventory.counts());
  }

  /** The node's status says that there are none of these `removed` ones: they are told no more. */
  reported(removed: readonly string[]): void {
    this.#inventory.reported(removed);
  }

  /** What the node has for a pod that holds devices: at least those that are held, so that it is admitted though its plugin is away. */
  allocatableFor({ metadata: { uid } }: Pod, allocatable: ResourceListJson): ResourceListJson {
    return this.#held.has(uid) ? atLeastHeld(allocatable, this.#held.held()) : allocatable;
  }

  /** How a container's devices are, for its status; empty where it has none. */
  resourcesStatus(podUid: string, container: string): NonNullable<ContainerStatus['allocatedResourcesStatus']> {
    const grants = [...this.#held.ofContainer(podUid, container)];
    const held = new Map(grants.map(([resource, { devices }]) => [resource, deviceIds(devices)] as const));
    return resourcesStatus(held, (resource) => this.#inventory.devices(resource));
  }

  /** What is held by pods that are gone is free again (`UpdateAllocatedDevices`). */
  freeGone(): void {
    for (const uid of this.#leaving()) {
      if (this.#mayRun(uid)) continue;
      this.#held.remove(uid);
      this.#logger.info({ podUid: uid }, 'Pod is gone: its devices are free');
    }
  }

  /** What a container holds, by resource. */
  devicesOf(podUid: string, container: string): ReadonlyMap<string, DevicesByNuma> {
    const grants = [...this.#held.ofContainer(podUid, container)];
    return new Map(grants.map(([resource, { devices }]) => [resource, devices] as const));
  }

  /** The healthy devices of the node, held or not, by resource. */
  allocatableDevices(): ReadonlyMap<string, readonly Device[]> {
    return this.#inventory.allocatable();
  }

  /**
   * Whether no kubelet has had plugins here, this one included: what the cluster knows of the node's devices is of another machine
   * (`ShouldResetExtendedResourceCapacity`).
   */
  async isNewNode(): Promise<boolean> {
    return await this.#record.isMissing();
  }

  /** Whether a plugin can be taken that was found by its socket; in upstream's words why not. */
  validatePlugin(resource: string, versions: readonly string[]): string | undefined {
    return foundProblem(versions, resource);
  }

  /** A plugin was found by its socket. @throws Error in upstream's words */
  async registerPlugin(resource: string, socketPath: string, signal: AbortSignal): Promise<void> {
    await this.load();
    await this.#plugins.connect(resource, socketPath, signal);
  }

  /** Its socket is gone. */
  deregisterPlugin(resource: string, socketPath: string): void {
    this.#plugins.disconnect(resource, socketPath);
  }

  /** Who holds devices and is not to: nobody before it is known who is. */
  #leaving(): readonly string[] {
    const { pods } = this.#components;
    const uids = this.#held.uids();
    if (uids.length === 0 || !pods.sourcesReady()) return [];
    const active = new Set(pods.active().map(({ metadata }) => metadata.uid));
    return uids.filter((uid) => !active.has(uid) && !this.#undecided.has(uid));
  }

  #mayRun(uid: string): boolean {
    return this.#components.pods.mayRun?.(uid) ?? false;
  }

  async #admit(pod: Pod, signal: AbortSignal): Promise<DeviceVerdict> {
    const { uid } = pod.metadata;
    await this.load();
    this.#undecided.begin(uid, this.#held.ofPod(uid));
    try {
      let any = false;
      for (const container of containersOf(pod)) {
        if (await this.#allocator.allocate(pod, container, signal)) any = true;
      }
      if (any) await this.#record.write();
      return { admit: true };
    } catch (err) {
      this.release(pod);
      const message = `Allocate failed due to ${errorText(err)}, which is unexpected`;
      return { admit: false, reason: 'UnexpectedAdmissionError', message };
    }
  }

  #told(resource: string, devices: ReadonlyMap<string, Device>): void {
    this.#changing(() => {
      const changed = this.#inventory.update(resource, devices);
      const podUids = this.#held.holdersOf(resource, changed);
      if (podUids.length > 0) this.#components.onHealthChanged?.(podUids);
    });
    this.#logger.debug({ resource, count: devices.size }, 'Processed device updates for resource');
  }

  /** Does what may change how many devices there are, and tells. */
  #changing(change: () => void): void {
    const before = countsText(this.#inventory);
    change();
    this.#record.writeToldSoon();
    if (countsText(this.#inventory) !== before) this.#components.onResourcesChanged?.();
  }
}

function containersOf({ spec }: Pod): readonly Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

function countsText(inventory: DeviceInventory): string {
  const { capacity, allocatable, removed } = inventory.counts();
  return JSON.stringify([[...capacity], [...allocatable], removed]);
}
