import { posix } from 'node:path';
import { type Clock, checkComponents, checkOptions, OptionsError, StartOnce } from '@node-agent/async';
import type { TopologyHints } from '@node-agent/contracts';
import { type GrpcTransport, unixSockets } from '@node-agent/grpc';
import type { FileSystem } from '@node-agent/host';
import {
  type Container,
  type ContainerStatus,
  isBackedByClaim,
  isExtendedResource,
  type Pod,
  type ResourceListJson,
} from '@node-agent/pod-spec';
import { errorText, type Logger, type Metrics, withDefaults } from '@node-agent/telemetry';
import { Allocator } from './allocator.ts';
import { type ContainerDevices, joinAnswers } from './container-devices.ts';
import { containersOf } from './containers-of.ts';
import { type Device, type DevicesByNuma, deviceIds } from './device.ts';
import { DeviceRecord } from './device-record.ts';
import { atLeastHeld, type DeviceResources, deviceResources } from './device-resources.ts';
import { DeviceError } from './errors.ts';
import type { RegisterRequest } from './generated/types.ts';
import { DeviceInventory } from './inventory.ts';
import { type DeviceMetrics, deviceMetrics, forgetSeries } from './metrics.ts';
import { type NotedWait, unnoted } from './noted-wait.ts';
import { type HeldGrant, PodDevices } from './pod-devices.ts';
import { foundProblem, Plugins } from './registration.ts';
import { RegistrationServer } from './registration-server.ts';
import { resourcesStatus } from './resource-status.ts';
import { UndecidedPods } from './undecided.ts';

/** Port to the pods of the node. */
export interface DevicePods {
  /**
   * Returns the pods that keep their devices: pods that hold resources of the node (N1), and pods in admission, which may
   * have devices from before a restart of the kubelet.
   */
  active(): readonly Pod[];
  /**
   * Returns whether a container of a pod that is not active may still run; the pod keeps its devices until then. Must
   * return true for a pod that a source may still report. Default: no container may run if {@link sourcesReady} returns
   * true, and any container may run if not.
   */
  mayRun?(uid: string): boolean;
  /** Returns whether all pods of the node are known. */
  sourcesReady(): boolean;
}

/** Dependencies of {@link DeviceManager}. */
export interface DeviceManagerComponents {
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly metrics?: Metrics;
  readonly fs: Pick<FileSystem, 'mkdir' | 'open' | 'readdir' | 'remove' | 'stat' | 'writeFileAtomic'>;
  readonly pods: DevicePods;
  /** Transport between plugins and kubelet. Default: gRPC on unix sockets. */
  readonly transport?: GrpcTransport;
  /**
   * Returns the NUMA nodes from which a container's devices are taken first; `undefined` for any. Default: any.
   */
  readonly affinity?: (podUid: string, container: string) => readonly number[] | undefined;
  /** Records what a container waits for. Default: not recorded. */
  readonly noted?: NotedWait;
  /** Gives a directory the SELinux label with which containers may use it. If absent, labels are not changed. */
  readonly labelForContainers?: (directory: string) => Promise<void>;
  /** Called when the number of the node's devices has changed. */
  readonly onResourcesChanged?: () => void;
  /** Called when the health of a device of these pods has changed, because their statuses contain it. */
  readonly onHealthChanged?: (podUids: readonly string[]) => void;
}

/** Options of a {@link DeviceManager}. */
export interface DeviceManagerOptions {
  /** Absolute path of the directory for sockets and checkpoint: `<root>/device-plugins`. */
  readonly directory: string;
  /**
   * Maximum wait of a new pod for the plugin of a resource that the node had before the kubelet was started, in
   * milliseconds from the start. With 0, the pod is rejected without waiting, as in upstream. Default: 120,000.
   */
  readonly pluginWaitMs?: number;
  /** NUMA nodes of the machine, for {@link DeviceManager.hints}. Default: none, so that there are no hints. */
  readonly numaNodes?: readonly number[];
  /**
   * State of the feature gate DRAExtendedResource, with which ResourceClaims may back extended resources. Default:
   * enabled.
   */
  readonly extendedResourceClaims?: boolean;
}

/** Default of `pluginWaitMs`: long enough for a plugin in a pod to pull its image and restart. */
const PLUGIN_WAIT_MS = 120_000;

/** Result of admission; compatible with kubelet-core's. */
export type DeviceVerdict =
  | { readonly admit: true }
  | { readonly admit: false; readonly reason: string; readonly message: string };

/**
 * Manages the devices of a node: which exist, which containers hold them, and what these containers get
 * (`pkg/kubelet/cm/devicemanager`). Devices are allocated when a pod is admitted and belong to the pod until it is
 * gone. Allocations are on disk before a container starts. Devices are chosen by NUMA node if `affinity` is given.
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
  /** Number of calls of {@link allocate} that allocated anything, and of those whose devices are on disk. */
  #allocations = 0;
  #storedAllocations = 0;

  /** @throws OptionsError naming the invalid component or option */
  constructor(components: DeviceManagerComponents, options: DeviceManagerOptions) {
    checkOptions('DeviceManager', options, {
      directory: 'string',
      pluginWaitMs: 'notNegative?',
      numaNodes: 'list?',
      extendedResourceClaims: 'boolean?',
    });
    checkComponents('DeviceManager', components, {
      fs: ['mkdir', 'open', 'readdir', 'remove', 'writeFileAtomic', 'stat'],
      pods: ['active', 'sourcesReady'],
    });
    if (!posix.isAbsolute(options.directory)) {
      const problem = `directory: must be an absolute path, not ${JSON.stringify(options.directory)}`;
      throw new OptionsError('DeviceManager', 'directory', problem);
    }
    // The directory is normalized (no trailing slash, no `..`), because the paths of plugins' sockets are compared with
    // it.
    const directory = posix.resolve(options.directory);
    const { pluginWaitMs = PLUGIN_WAIT_MS, numaNodes = [], extendedResourceClaims = true } = options;
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
      ...{ pluginWaitMs, numaNodes, affinity: components.affinity ?? (() => undefined) },
      isBackedByClaim: extendedResourceClaims ? isBackedByClaim : () => false,
      freeGone: () => this.freeGone(),
      ending: () => this.#leaving().filter((uid) => this.#mayRun(uid)),
    });
  }

  /**
   * Reads the checkpoint; all methods that need it call `load` first. Never rejects: as upstream, if the checkpoint
   * cannot be read, logs the error and treats all devices as not allocated.
   */
  load(): Promise<void> {
    return this.#record.load();
  }

  /**
   * Listens for plugins until the signal is aborted. If listening fails, it is retried and {@link health} reports the
   * reason.
   */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    this.#record.begin(signal);
    await this.load();
    this.#plugins.begin(signal);
    await this.#server.start(signal);
  }

  /** Resolves when {@link start} listens, so that plugins can register. @throws the signal's reason */
  async ready(signal?: AbortSignal): Promise<void> {
    await this.#server.ready(signal);
  }

  /** Returns the current problem in upstream's wording; `undefined` if there is none. */
  health(): string | undefined {
    return this.#server.health();
  }

  /**
   * Allocates a pod's devices or rejects the pod; returns synchronously if the pod requests none. Compatible with
   * `AdmitHandler` of kubelet-core: when the result is returned, the allocation is on disk; {@link release} reverts the
   * allocation.
   */
  admit(pod: Pod, _others: readonly Pod[], signal: AbortSignal): DeviceVerdict | Promise<DeviceVerdict> {
    const limits = containersOf(pod).flatMap(({ resources }) => Object.keys(resources?.limits ?? {}));
    return limits.some(isExtendedResource) ? this.#admit(pod, signal) : { admit: true };
  }

  /**
   * Resolves when {@link hints} of a pod can be complete: the plugins of all its devices have reported them, or are no
   * longer awaited (`pluginWaitMs`). {@link load} must have resolved. @throws the signal's reason
   */
  async pluginsReady(pod: Pod, signal: AbortSignal): Promise<void> {
    for (const container of containersOf(pod)) await this.#allocator.awaitPlugins(pod, container, signal);
  }

  /**
   * Returns the NUMA nodes from which devices can be allocated to a container or, without one, to a pod as a whole.
   * {@link load} must have resolved.
   */
  hints(pod: Pod, container?: Container): TopologyHints {
    return this.#allocator.hints(pod, container);
  }

  /**
   * Waits for another pod that may soon free devices that the pod lacks: an older pod in admission, or one that
   * terminates. The pod must hold no devices that it may not keep; see {@link giveUp}.
   * @param lacks `alignment` if enough devices are free, but on the wrong NUMA nodes. Default: `devices`
   * @returns false if no wait can help: enough devices are free, or too few even after the wait
   * @throws the signal's reason
   */
  async waitedForHolder(pod: Pod, signal: AbortSignal, lacks: 'devices' | 'alignment' = 'devices'): Promise<boolean> {
    return await this.#allocator.waitedForHolder(pod, lacks === 'alignment', signal);
  }

  /** Begins the admission of a pod whose containers get their devices one by one, by {@link allocate}. */
  begin({ metadata: { uid } }: Pod): void {
    this.#undecided.begin(uid, this.#held.ofPod(uid));
  }

  /** Allocates the devices of a container. @throws DeviceError `Refused`; GrpcError of the plugin */
  async allocate(pod: Pod, container: Container, signal: AbortSignal): Promise<void> {
    if (await this.#allocator.allocate(pod, container, signal)) this.#allocations++;
  }

  /** Resolves when all allocations are on disk. @throws DeviceError `CheckpointNotWritten` */
  async stored(): Promise<void> {
    const allocations = this.#allocations;
    if (this.#storedAllocations >= allocations) return;
    await this.#record.write();
    this.#storedAllocations = Math.max(this.#storedAllocations, allocations);
  }

  /** Confirms the allocation, because the admitted pod will run. */
  admitted({ metadata: { uid } }: Pod): void {
    this.#undecided.end(uid);
  }

  /**
   * Frees what a pod got since {@link begin}, because the pod could not get everything. The admission goes on, so that
   * the pod keeps its turn.
   */
  giveUp({ metadata: { uid } }: Pod): void {
    const before = this.#undecided.before(uid);
    if (before === undefined) return;
    this.#restore(uid, before);
    this.#undecided.gaveUp();
  }

  /** Reverts the allocation, because the admitted pod will not run after all. */
  release({ metadata: { uid } }: Pod): void {
    const before = this.#undecided.end(uid);
    if (before === undefined) return;
    this.#restore(uid, before);
  }

  #restore(uid: string, before: readonly HeldGrant[]): void {
    this.#held.remove(uid);
    for (const grant of before) this.#held.set(grant);
    this.#record.writeSoon();
  }

  /**
   * Returns the settings of a container (`GetDeviceRunContainerOptions`). Called before each creation of the container:
   * plugins that request PreStartContainer are called, and missing devices are allocated. A container of a pod that is
   * being removed gets no new devices and is refused; upstream starts it without devices.
   * @throws DeviceError, GrpcError
   */
  async containerDevices(pod: Pod, container: Container, signal: AbortSignal): Promise<ContainerDevices> {
    const { uid } = pod.metadata;
    await this.load();
    let missing = false;
    for (const [resource, required] of this.#allocator.demands(pod, container)) {
      if (required === 0) continue;
      await this.#allocator.preStart(uid, container.name, resource, signal);
      if (this.#held.devices(uid, container.name, resource) !== undefined) continue;
      if (!this.#components.pods.active().some(({ metadata }) => metadata.uid === uid)) {
        throw new DeviceError('Refused', `pod is being removed and has no ${resource} for container ${container.name}`);
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

  /** Returns the devices for the node's status. */
  resources(): DeviceResources {
    const gone = this.#inventory.collect(this.#clock.monotonic());
    for (const resource of gone) this.#plugins.forget(resource);
    if (gone.length > 0) this.#record.writeSoon();
    return deviceResources(this.#inventory.counts());
  }

  /** Records that the node's status reported these `removed` resources as gone; they are not reported again. */
  reported(removed: readonly string[]): void {
    this.#inventory.reported(removed);
  }

  /**
   * Returns the allocatable resources for the admission of a pod. For a pod that holds devices, at least the held
   * devices are included, so that the pod is admitted while its plugin is away.
   */
  allocatableFor({ metadata: { uid } }: Pod, allocatable: ResourceListJson): ResourceListJson {
    return this.#held.has(uid) ? atLeastHeld(allocatable, this.#held.held()) : allocatable;
  }

  /** Returns the health of a container's devices for its status; empty if it has none. */
  resourcesStatus(podUid: string, container: string): NonNullable<ContainerStatus['allocatedResourcesStatus']> {
    const grants = [...this.#held.ofContainer(podUid, container)];
    const held = new Map(grants.map(([resource, { devices }]) => [resource, deviceIds(devices)] as const));
    return resourcesStatus(held, (resource) => this.#inventory.devices(resource));
  }

  /** Frees the devices of pods that are gone (upstream: `UpdateAllocatedDevices`). */
  freeGone(): void {
    for (const uid of this.#leaving()) {
      if (this.#mayRun(uid)) continue;
      this.#held.remove(uid);
      this.#logger.info({ podUid: uid }, 'Freed the devices of a pod that is gone');
    }
  }

  /** Returns the devices of a container, by resource. */
  devicesOf(podUid: string, container: string): ReadonlyMap<string, DevicesByNuma> {
    const grants = [...this.#held.ofContainer(podUid, container)];
    return new Map(grants.map(([resource, { devices }]) => [resource, devices] as const));
  }

  /** Returns the healthy devices of the node, allocated or not, by resource. */
  allocatableDevices(): ReadonlyMap<string, readonly Device[]> {
    return this.#inventory.allocatable();
  }

  /**
   * Returns whether no kubelet, including this one, has had plugins on this machine. If true, extended resources of the
   * Node object belong to another machine (upstream: `ShouldResetExtendedResourceCapacity`).
   */
  async isNewNode(): Promise<boolean> {
    return await this.#record.isMissing();
  }

  /** Returns why a plugin that was found by its socket cannot be used, in upstream's wording; `undefined` if it can. */
  validatePlugin(resource: string, versions: readonly string[]): string | undefined {
    return foundProblem(versions, resource);
  }

  /** Registers a plugin that was found by its socket. @throws Error in upstream's wording */
  async registerPlugin(resource: string, socketPath: string, signal: AbortSignal): Promise<void> {
    await this.load();
    await this.#plugins.connect(resource, socketPath, signal);
  }

  /** Deregisters a plugin whose socket is gone. */
  deregisterPlugin(resource: string, socketPath: string): void {
    this.#plugins.disconnect(resource, socketPath);
  }

  /**
   * Returns the pods that hold devices although they are neither active nor in admission. Before all pods are known,
   * this includes pods that a source has not reported yet.
   */
  #leaving(): readonly string[] {
    const { pods } = this.#components;
    const uids = this.#held.uids();
    if (uids.length === 0) return [];
    const active = new Set(pods.active().map(({ metadata }) => metadata.uid));
    return uids.filter((uid) => !active.has(uid) && !this.#undecided.has(uid));
  }

  #mayRun(uid: string): boolean {
    const { pods } = this.#components;
    return pods.mayRun?.(uid) ?? !pods.sourcesReady();
  }

  async #admit(pod: Pod, signal: AbortSignal): Promise<DeviceVerdict> {
    await this.load();
    this.begin(pod);
    for (;;) {
      const { changes } = this.#undecided;
      try {
        let any = false;
        for (const container of containersOf(pod)) {
          if (await this.#allocator.allocate(pod, container, signal)) any = true;
        }
        if (any) await this.#record.write();
        return { admit: true };
      } catch (err) {
        const isRefused = DeviceError.is(err) && err.code === 'Refused';
        if (isRefused && (await this.#mayRetry(pod, changes, signal))) continue;
        this.release(pod);
        const message = `Allocate failed due to ${errorText(err)}, which is unexpected`;
        return { admit: false, reason: 'UnexpectedAdmissionError', message };
      }
    }
  }

  /**
   * Gives up the devices that a pod got so far, and waits for other pods that may soon free devices.
   * @param changes number of changes of the pods in admission when the attempt began
   * @returns false if another attempt cannot help
   */
  async #mayRetry(pod: Pod, changes: number, signal: AbortSignal): Promise<boolean> {
    const isOutdated = this.#undecided.changes !== changes;
    this.giveUp(pod);
    if (signal.aborted) return false;
    // Another pod may have freed devices since this pod was refused.
    if (isOutdated && this.#allocator.hasEnough(pod)) return true;
    return await this.waitedForHolder(pod, signal).catch(() => false);
  }

  #told(resource: string, devices: ReadonlyMap<string, Device>): void {
    this.#changing(() => {
      const changed = this.#inventory.update(resource, devices);
      const podUids = this.#held.holdersOf(resource, changed);
      if (podUids.length > 0) this.#components.onHealthChanged?.(podUids);
    });
    this.#logger.debug({ resource, count: devices.size }, 'Processed device updates for resource');
  }

  /** Applies a change that may affect the number of devices, and reports it. */
  #changing(change: () => void): void {
    const before = countsText(this.#inventory);
    change();
    this.#record.writeToldSoon();
    if (countsText(this.#inventory) !== before) this.#components.onResourcesChanged?.();
  }
}

function countsText(inventory: DeviceInventory): string {
  const { capacity, allocatable, removed } = inventory.counts();
  return JSON.stringify([[...capacity], [...allocatable], removed]);
}
