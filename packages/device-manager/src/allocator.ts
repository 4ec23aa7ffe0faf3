import { type Clock, sleep } from '@node-agent/async';
import type { TopologyHints } from '@node-agent/contracts';
import {
  type Container,
  formatResourceList,
  isExtendedResource,
  type Pod,
  parseQuantity,
  podLimits,
} from '@node-agent/pod-spec';
import { errorText } from '@node-agent/telemetry';
import { aligned, chooseDevices, type DeviceDemand, fillChoice } from './choose-devices.ts';
import { containersOf } from './containers-of.ts';
import { devicesByNuma } from './device.ts';
import { byAffinity, deviceHints, hasTopology } from './device-hints.ts';
import { DeviceError } from './errors.ts';
import { messages } from './generated/codec.ts';
import type { ContainerAllocateResponse } from './generated/types.ts';
import type { DeviceInventory } from './inventory.ts';
import type { DeviceMetrics } from './metrics.ts';
import type { NotedWait } from './noted-wait.ts';
import type { Plugin } from './plugin.ts';
import { type PodDevices, reusableDevices } from './pod-devices.ts';
import type { Plugins } from './registration.ts';
import { Reservations } from './reservations.ts';
import type { UndecidedPods } from './undecided.ts';

/**
 * Maximum size of a plugin's Allocate response per container. Responses are kept in memory and in the checkpoint, and
 * no plugin may use up the space of others. A single environment variable may have 128 KiB; known plugins return a few
 * KiB.
 */
const MAX_ANSWER_BYTES = 256 * 1024;

/** Dependencies of an {@link Allocator}. */
interface AllocatorParts {
  readonly clock: Clock;
  readonly metrics: DeviceMetrics;
  readonly inventory: DeviceInventory;
  readonly held: PodDevices;
  readonly plugins: Pick<Plugins, 'get'>;
  readonly undecided: UndecidedPods;
  readonly noted: NotedWait;
  /** NUMA nodes of the machine. */
  readonly numaNodes: readonly number[];
  /** Returns the NUMA nodes from which a container's devices are taken first; `undefined` for any. */
  readonly affinity: (podUid: string, container: string) => readonly number[] | undefined;
  /**
   * Returns whether a ResourceClaim backs an extended resource of a container, so that no device plugin provides the
   * resource.
   */
  readonly isBackedByClaim: (pod: Pod, container: string, resource: string) => boolean;
  /** Frees the devices of pods that no longer exist. */
  readonly freeGone: () => void;
  /** Returns the UIDs of pods that hold devices only until their termination has finished. */
  readonly ending: () => readonly string[];
  /**
   * Maximum wait of a pod for the plugin of a resource that an earlier process knew, counted from the time at which the
   * checkpoint was read.
   */
  readonly pluginWaitMs: number;
}

/** Period of checking whether a terminating pod has released devices that another pod needs. */
const ENDING_LOOK_MS = 250;
/** Period of checking whether an awaited plugin has reported its devices. */
const PLUGIN_LOOK_MS = 250;

/** Returns the remaining wait for a plugin, in milliseconds. @param sinceMs `undefined` if the plugin is not awaited */
export function pluginWaitRestMs(sinceMs: number | undefined, nowMs: number, waitMs: number): number {
  return sinceMs === undefined ? 0 : Math.max(0, sinceMs + waitMs - nowMs);
}

/** Allocates devices to containers (`allocateContainerResources`, `pkg/kubelet/cm/devicemanager/manager.go`). */
export class Allocator {
  readonly #parts: AllocatorParts;
  readonly #reservations = new Reservations();

  constructor(parts: AllocatorParts) {
    this.#parts = parts;
  }

  /**
   * Returns the device resources that a container requests, with the number of each. Resources that a ResourceClaim backs
   * are left out (`isDRAExtendedResource`, `manager.go`).
   */
  demands(pod: Pod, { name, resources }: Container): readonly (readonly [resource: string, required: number])[] {
    const { inventory, held, isBackedByClaim } = this.#parts;
    const asked = Object.entries(resources?.limits ?? {}).filter(
      ([resource]) => isExtendedResource(resource) && !isBackedByClaim(pod, name, resource),
    );
    if (asked.length === 0) return [];
    // A resource counts as a device resource only if a plugin has reported devices of it, or if a container holds some.
    const heldResources = held.resources();
    return asked
      .filter(([resource]) => inventory.healthy(resource) !== undefined || heldResources.has(resource))
      .map(([resource, amount]) => [resource, Number(parseQuantity(amount).value())] as const);
  }

  /**
   * Returns the NUMA nodes from which the devices of a container, or of a pod as a whole, can be allocated
   * (`GetTopologyHints`, `GetPodTopologyHints`, `pkg/kubelet/cm/devicemanager/topology_hints.go`).
   */
  hints(pod: Pod, container: Container | undefined): TopologyHints {
    const whole = container ?? podAsContainer(pod, this.#parts.isBackedByClaim);
    const demands = this.demands(pod, whole).filter(([, required]) => required > 0);
    if (demands.length > 0) this.#parts.freeGone();
    return new Map(
      demands.map(([resource, required]) => [resource, this.#hints(pod, container?.name, resource, required)] as const),
    );
  }

  #hints(
    pod: Pod,
    container: string | undefined,
    resource: string,
    required: number,
  ): ReturnType<TopologyHints['get']> {
    const { inventory, held, numaNodes } = this.#parts;
    const devices = inventory.devices(resource);
    if (devices === undefined || !hasTopology(devices)) return undefined;
    const { uid } = pod.metadata;
    const own = container === undefined ? held.ofPodAndResource(uid, resource) : held.devices(uid, container, resource);
    if (own !== undefined && own.size > 0) {
      if (own.size !== required) return [];
      return deviceHints(numaNodes, { devices, available: own, reusable: new Set() }, required);
    }
    const { healthy = new Set<string>(), inUse, reusable } = this.#demand(pod, container ?? '', resource, required);
    const reused = container === undefined ? new Set<string>() : reusable;
    const available = new Set([...healthy].filter((id) => !inUse.has(id)));
    if (new Set([...available, ...reused]).size < required) return [];
    return deviceHints(numaNodes, { devices, available, reusable: reused }, required);
  }

  /**
   * Ensures that a container has the devices that it requests. Devices that were allocated before an error stay
   * allocated to the pod.
   * @returns whether anything was allocated
   * @throws DeviceError `Refused`; GrpcError of the plugin; the signal's reason
   */
  async allocate(pod: Pod, container: Container, signal: AbortSignal): Promise<boolean> {
    await this.awaitPlugins(pod, container, signal);
    const demands = this.demands(pod, container);
    if (demands.length > 0) this.#parts.freeGone();
    let any = false;
    for (const [resource, required] of demands) {
      if (await this.#allocate(pod, container.name, resource, required, signal)) any = true;
    }
    return any;
  }

  /** Waits, for a limited time, for the plugins of the devices that a container requests. @throws the signal's reason */
  async awaitPlugins(pod: Pod, container: Container, signal: AbortSignal): Promise<void> {
    for (const [resource, required] of this.demands(pod, container)) {
      if (required > 0) await this.#awaitPlugin(pod.metadata.uid, container.name, resource, signal);
    }
  }

  /**
   * Waits, for a limited time, until the plugin of a resource that an earlier process knew has reported its devices.
   * After a reboot, pods are admitted before their plugins have registered; upstream then rejects such pods permanently
   * (kubernetes#125579).
   */
  async #awaitPlugin(podUid: string, container: string, resource: string, signal: AbortSignal): Promise<void> {
    const { clock, inventory, noted, pluginWaitMs } = this.#parts;
    const restMs = (): number => pluginWaitRestMs(inventory.awaitedSinceMs(resource), clock.monotonic(), pluginWaitMs);
    if (restMs() === 0) return;
    const wait = async (): Promise<void> => {
      for (let ms = restMs(); ms > 0; ms = restMs()) await sleep(clock, Math.min(ms, PLUGIN_LOOK_MS), signal);
    };
    const what = `${resource}: its device plugin, which has not registered since the kubelet was started`;
    await noted({ podUid, container, what }, wait, signal);
  }

  async #allocate(
    pod: Pod,
    container: string,
    resource: string,
    required: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { clock, metrics, inventory, held, plugins } = this.#parts;
    const choice = await this.#choose(pod, container, resource, required, signal);
    if (choice === undefined) return false;
    const { ids, release } = choice;
    const startedMs = clock.monotonic();
    try {
      const plugin = plugins.get(resource);
      if (plugin === undefined) throw new DeviceError('Refused', `unknown Device Plugin ${resource}`);
      const whose = { podUid: pod.metadata.uid, container };
      const response = await this.#asked(whose, plugin, 'Allocate', () => plugin.allocate(ids, signal), signal);
      checkAnswer(plugin, response);
      const devices = devicesByNuma(ids, inventory.devices(resource));
      held.set({ podUid: pod.metadata.uid, container, resource, devices, response });
      return true;
    } finally {
      release();
      metrics.allocationSeconds.observe({ resource_name: resource }, (clock.monotonic() - startedMs) / 1000);
    }
  }

  /** Chooses devices and reserves them. @returns `undefined` if the container already has its devices */
  async #choose(
    pod: Pod,
    container: string,
    resource: string,
    required: number,
    signal: AbortSignal,
  ): Promise<{ readonly ids: readonly string[]; readonly release: () => void } | undefined> {
    const { plugins } = this.#parts;
    let preferred: readonly string[] | undefined;
    // Other pods may get devices during a wait, so the choice is repeated after each wait.
    for (;;) {
      signal.throwIfAborted();
      const choice = chooseDevices(this.#demand(pod, container, resource, required));
      if (choice.kind === 'granted') return undefined;
      if (choice.kind === 'refused') {
        if (choice.short && (await this.#waitedInPlace(pod.metadata.uid, container, resource, signal))) continue;
        throw new DeviceError('Refused', choice.message);
      }
      const affinity = this.#parts.affinity(pod.metadata.uid, container);
      const sorted = byAffinity(choice.available, this.#parts.inventory.devices(resource), affinity);
      const { taken, needed, available } = aligned(choice, sorted);
      const plugin = plugins.get(resource);
      if (needed === 0 || preferred !== undefined || !plugin?.hasPreferences) {
        const ids = [...taken, ...fillChoice(needed, available, preferred ?? [])];
        return { ids, release: this.#reservations.take(resource, pod.metadata.uid, ids) };
      }
      try {
        const whose = { podUid: pod.metadata.uid, container };
        const ask = () => plugin.preferred([...taken, ...available], taken, required, signal);
        preferred = await this.#asked(whose, plugin, 'GetPreferredAllocation', ask, signal);
      } catch (cause) {
        const message = `device plugin GetPreferredAllocation rpc failed with err: ${errorText(cause)}`;
        throw new DeviceError('Refused', message, { cause });
      }
    }
  }

  /**
   * Waits for other pods that may soon free devices that the pod requests. The pod must have given up what it got so far
   * in its admission.
   * @param isUnaligned whether the pod was refused because its devices are on the wrong NUMA nodes, so that a wait may
   * help although enough devices are free
   * @returns false if no wait can help @throws the signal's reason
   */
  async waitedForHolder(pod: Pod, isUnaligned: boolean, signal: AbortSignal): Promise<boolean> {
    const { uid } = pod.metadata;
    const supplies = this.#supplies(pod);
    if (supplies.some(({ isHopeless }) => isHopeless)) return false;
    for (const { resource, isShort } of supplies) {
      const container = containersOf(pod).find(({ resources }) => resources?.limits?.[resource] !== undefined);
      if ((isShort || isUnaligned) && (await this.#waitedForHolder(uid, container?.name ?? '', resource, signal))) {
        return true;
      }
    }
    return false;
  }

  /** Returns whether enough devices are free for a pod. */
  hasEnough(pod: Pod): boolean {
    return this.#supplies(pod).every(({ isShort }) => !isShort);
  }

  #supplies(
    pod: Pod,
  ): readonly { readonly resource: string; readonly isShort: boolean; readonly isHopeless: boolean }[] {
    return this.demands(pod, podAsContainer(pod, this.#parts.isBackedByClaim))
      .filter(([, required]) => required > 0)
      .map(([resource, required]) => ({ resource, ...this.#supply(pod.metadata.uid, resource, required) }));
  }

  /**
   * Compares the devices that a pod needs with the free ones. `isShort`: too few are free. `isHopeless`: too few are
   * free even when the pods for which the pod can wait have freed theirs.
   */
  #supply(
    podUid: string,
    resource: string,
    required: number,
  ): { readonly isShort: boolean; readonly isHopeless: boolean } {
    const { inventory, held, ending } = this.#parts;
    const own = held.ofPodAndResource(podUid, resource) ?? new Set<string>();
    const inUse = new Set([...(held.held().get(resource) ?? []), ...this.#reservations.of(resource)]);
    const healthy = [...(inventory.healthy(resource) ?? [])];
    const available = healthy.filter((id) => own.has(id) || !inUse.has(id)).length;
    const holders = [...ending(), ...this.#undecidedHolders(podUid, resource, 'older')];
    const freed = new Set([
      ...holders.flatMap((uid) => [...(held.ofPodAndResource(uid, resource) ?? [])]),
      ...this.#reservations.of(resource),
    ]);
    const later = healthy.filter((id) => own.has(id) || !inUse.has(id) || freed.has(id)).length;
    return { isShort: available < required, isHopeless: later < required };
  }

  /**
   * Waits without giving up devices: a pod in admission for younger pods in admission, a pod that has been admitted for
   * any pod that may soon free devices.
   * @returns false if there is no such pod @throws the signal's reason
   */
  async #waitedInPlace(podUid: string, container: string, resource: string, signal: AbortSignal): Promise<boolean> {
    const { noted, undecided } = this.#parts;
    if (undecided.before(podUid) === undefined) {
      return await this.#waitedForHolder(podUid, container, resource, signal);
    }
    if (this.#undecidedHolders(podUid, resource, 'younger').length === 0) return false;
    const what = `${resource}: a younger pod that is not admitted yet holds devices`;
    await noted({ podUid, container, what }, () => this.#holdersChanged(podUid, resource, 'younger', signal), signal);
    return true;
  }

  async #waitedForHolder(podUid: string, container: string, resource: string, signal: AbortSignal): Promise<boolean> {
    const { clock, noted, freeGone, ending } = this.#parts;
    const last = this.#endingHolder(resource);
    if (last === undefined && this.#undecidedHolders(podUid, resource, 'older').length === 0) return false;
    const what =
      last === undefined
        ? `${resource}: an older pod that is not admitted yet holds devices`
        : `${resource}: termination of pod ${last}, which holds devices until then`;
    const wait = async (): Promise<void> => {
      if (last === undefined) await this.#holdersChanged(podUid, resource, 'older', signal);
      else while (ending().includes(last)) await sleep(clock, ENDING_LOOK_MS, signal);
    };
    await noted({ podUid, container, what }, wait, signal);
    freeGone();
    return true;
  }

  /**
   * Resolves when other pods in admission hold devices of the resource. The wait goes on if pods without such devices
   * end their admission. Otherwise, two waiting pods that each begin their admission again after the wait would wake
   * each other without end.
   */
  async #holdersChanged(
    podUid: string,
    resource: string,
    age: 'older' | 'younger',
    signal: AbortSignal,
  ): Promise<void> {
    const before = this.#undecidedHolders(podUid, resource, age).join();
    do await this.#parts.undecided.change(signal);
    while (this.#undecidedHolders(podUid, resource, age).join() === before);
  }

  /**
   * Returns the older or younger pods that are still in admission and have allocated, or reserved, devices of the
   * resource that they may not keep. A pod that waits for another resource does not delay others (W6).
   */
  #undecidedHolders(podUid: string, resource: string, age: 'older' | 'younger'): readonly string[] {
    const { held, undecided } = this.#parts;
    return undecided.others(podUid, age, (uid, before) => {
      if (this.#reservations.has(resource, uid)) return true;
      const had = new Set(before.map((grant) => `${grant.container}\0${grant.resource}`));
      return held
        .ofPod(uid)
        .some((grant) => grant.resource === resource && !had.has(`${grant.container}\0${grant.resource}`));
    });
  }

  /**
   * Returns a terminating pod that still holds devices of the resource. Upstream allocates devices of terminating pods
   * although their containers may still use them.
   */
  #endingHolder(resource: string): string | undefined {
    const { held, ending } = this.#parts;
    return ending().find((uid) => held.ofPod(uid).some((grant) => grant.resource === resource));
  }

  #demand(pod: Pod, container: string, resource: string, required: number): DeviceDemand {
    const { inventory, held } = this.#parts;
    const { uid: podUid } = pod.metadata;
    const reserved = new Set(this.#reservations.of(resource));
    // Reserved devices are not reusable: several containers of a pod may get their devices concurrently, if they get
    // them at their start.
    const reusable = [...reusableDevices(pod, container, resource, held)].filter((id) => !reserved.has(id));
    return {
      ...{ podUid, container, resource, required },
      granted: held.devices(podUid, container, resource),
      healthy: inventory.healthy(resource),
      inUse: new Set([...(held.held().get(resource) ?? []), ...reserved]),
      reusable: new Set(reusable),
    };
  }

  /** Calls PreStartContainer before each start of a container. @throws DeviceError `Refused` */
  async preStart(podUid: string, container: string, resource: string, signal: AbortSignal): Promise<void> {
    const { inventory, held, plugins } = this.#parts;
    if (!inventory.has(resource)) {
      throw new DeviceError('Refused', `endpoint not found in cache for a registered resource: ${resource}`);
    }
    const plugin = plugins.get(resource);
    if (!plugin?.wantsPreStart) return;
    const devices = held.devices(podUid, container, resource);
    if (devices === undefined) {
      const whose = `pod ${podUid}, container ${container}, resource ${resource}`;
      throw new DeviceError('Refused', `no devices found allocated in local cache for ${whose}`);
    }
    try {
      const start = () => plugin.preStart([...devices], signal);
      await this.#asked({ podUid, container }, plugin, 'PreStartContainer', start, signal);
    } catch (cause) {
      const message = `device plugin PreStartContainer rpc failed with err: ${errorText(cause)}`;
      throw new DeviceError('Refused', message, { cause });
    }
  }

  /** Calls a plugin. The call may take arbitrarily long; `noted` records which plugin is being waited for. */
  #asked<T>(
    whose: { readonly podUid: string; readonly container: string },
    { resource, socketPath }: Plugin,
    rpc: string,
    ask: () => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const what = `${resource}: ${rpc} of the device plugin at ${socketPath}`;
    return this.#parts.noted({ ...whose, what }, ask, signal);
  }
}

function checkAnswer({ resource, socketPath }: Plugin, answer: ContainerAllocateResponse): void {
  const { length } = messages.ContainerAllocateResponse.encode(answer);
  if (length <= MAX_ANSWER_BYTES) return;
  const whose = `the device plugin of ${resource} at ${socketPath}`;
  throw new DeviceError(
    'Refused',
    `${whose} returned ${length} bytes for Allocate: at most ${MAX_ANSWER_BYTES} are accepted`,
  );
}

/** Returns the device limits of a pod as a whole, without extended resources that ResourceClaims back. */
function podAsContainer(pod: Pod, isBackedByClaim: AllocatorParts['isBackedByClaim']): Container {
  const { containers, initContainers } = pod.spec;
  const withoutClaimed = (container: Container): Container => {
    const { resources } = container;
    const limits = Object.entries(resources?.limits ?? {}).filter(
      ([resource]) => !isBackedByClaim(pod, container.name, resource),
    );
    return { ...container, resources: { ...resources, limits: Object.fromEntries(limits) } };
  };
  const spec = {
    ...pod.spec,
    containers: containers.map(withoutClaimed),
    ...(initContainers && { initContainers: initContainers.map(withoutClaimed) }),
  };
  const limits = formatResourceList(podLimits({ ...pod, spec }, { excludeOverhead: true }));
  return { name: '', resources: { limits } };
}
