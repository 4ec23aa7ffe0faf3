import {
  abortable,
  type Clock,
  checkComponents,
  checkOptions,
  KeyedMutex,
  OptionsError,
  Semaphore,
  StartOnce,
  sleep,
  systemClock,
} from '@node-agent/async';
import { MIN_CPU_SHARES, oncePer, type Pod, podQosClass } from '@node-agent/pod-spec';
import {
  type EventRecorder,
  type Logger,
  type Metrics,
  noEvents,
  noMetrics,
  type ObjectReference,
  silentLogger,
} from '@node-agent/telemetry';
import type { CgroupManager } from './cgroup-manager.ts';
import { CgroupError, type CgroupErrorCode } from './errors.ts';
import { growing } from './growing.ts';
import { LimitKeeper } from './limit-keeper.ts';
import { limitMemory } from './limit-memory.ts';
import { type MemoryProtection, qosMemoryProtection } from './memory-qos.ts';
import { cgroupTimer, memoryProtectionGauges } from './metrics.ts';
import { type CgroupName, cgroupfsPath, parseCgroupfsPath } from './names.ts';
import { kubepodsName, podName, podUidOf, qosNames } from './pod-names.ts';
import { type PodLimitOptions, podResourceConfig } from './pod-resources.ts';
import { PodTree } from './pod-tree.ts';
import { type QosMemoryReserve, qosMemoryLimits } from './qos-reserve.ts';
import { qosShares } from './qos-resources.ts';
import type { ReservedGroup } from './reserved-groups.ts';
import type { GroupLimits, ResourceConfig } from './resource-config.ts';

export interface PodCgroupsComponents {
  /**
   * Opens the machine's cgroups. Called once when first needed, and again after a failure. `openCgroups` implements it.
   */
  readonly open: () => Promise<CgroupManager>;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** Default: no metrics. */
  readonly metrics?: Metrics;
  /** Receives events about the limits of all pods. Default: no events. */
  readonly recorder?: EventRecorder;
  /**
   * Returns whether any container of a pod has exclusive CPUs. A pod with exclusive CPUs has no CPU quota, because a
   * quota would only slow its containers down. The result must be known when the pod's cgroup is created. Default: no
   * container has exclusive CPUs.
   */
  readonly hasExclusiveCpus?: (pod: Pod) => boolean;
}

export interface PodCgroupsOptions extends PodLimitOptions {
  /** Parent of all created cgroups (`cgroupRoot`); it must exist. Default: `/`. */
  readonly cgroupRoot?: string;
  /**
   * Limits of all pods together; see `listResourceConfig`. The huge pages of all pods together are never limited.
   * Default: none.
   */
  readonly limits?: ResourceConfig;
  /** Cgroups outside of the pods' that are limited to their reservations. Default: none. */
  readonly reserved?: readonly ReservedGroup[];
  /**
   * Memory that higher QoS classes withhold from lower ones (`qosReserved`). If absent, as with the feature gate
   * `QOSReserved` off, no memory is withheld.
   */
  readonly qosReserved?: QosMemoryReserve;
  /** Object of the events about the limits of all pods. */
  readonly nodeRef?: ObjectReference;
}

/** Period of checking whether unchanged limits of the QoS cgroups were reset. */
const QOS_REPAIR_MS = 60_000;
/** Delay before opening the machine's cgroups is retried. */
const RETRY_MS = 1000;
/** Errors that last until the configuration or the machine is changed. */
const LASTING: ReadonlySet<CgroupErrorCode> = new Set([
  'UnsupportedDriver',
  'NoHierarchy',
  'MissingRoot',
  'InvalidName',
]);

interface Ready {
  readonly manager: CgroupManager;
  readonly tree: PodTree;
  /** Keeps the CPU shares and memory protection of the QoS cgroups. */
  readonly keeper: LimitKeeper;
}

/**
 * Manages the cgroups of pods (`pod_container_manager_linux.go` and `qos_container_manager_linux.go` in
 * `pkg/kubelet/cm`). All methods may be called at any time and repeatedly; operations on one pod's cgroup are
 * serialized.
 */
export class PodCgroups {
  readonly #open: PodCgroupsComponents['open'];
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #recorder: EventRecorder;
  readonly #timed: ReturnType<typeof cgroupTimer>;
  readonly #reportMemory: (protection: MemoryProtection) => void;
  readonly #options: PodCgroupsOptions;
  readonly #root: CgroupName;
  readonly #qos: ReturnType<typeof qosNames>;
  readonly #turns = new KeyedMutex<string>();
  /**
   * Identities of the cgroups whose limits this object has set, by pod UID. A process that was killed may have created
   * a cgroup without limits, and another program may have removed and recreated a cgroup; in both cases, the cgroup has
   * another identity.
   */
  readonly #limited = new Map<string, string>();
  /** Limits that each pod's cgroup was last set to. */
  readonly #set = new Map<string, ResourceConfig>();
  readonly #wanted = oncePer((pod: Pod) => {
    const isUnlimited = this.#hasExclusiveCpus(pod);
    return podResourceConfig(pod, isUnlimited ? { ...this.#options, cpuCfsQuota: false } : this.#options);
  });
  readonly #hasExclusiveCpus: (pod: Pod) => boolean;
  /** Limits that the kernel reported for each pod's cgroup after the last change. */
  readonly #held = new Map<string, GroupLimits>();
  readonly #qosTurn = new Semaphore(1);
  /**
   * Values that the QoS cgroups were last set to, with the time: starting or stopping a pod usually does not change
   * them.
   */
  #qosGiven: { readonly values: string; readonly atMs: number } | undefined;
  #tree: Promise<Ready> | undefined;
  #manager: CgroupManager | undefined;
  readonly #startOnce = new StartOnce('PodCgroups');

  /** @throws CgroupError `InvalidName` if `cgroupRoot` is invalid; RangeError naming the invalid option */
  constructor(components: PodCgroupsComponents, options: PodCgroupsOptions = {}) {
    checkOptions('PodCgroups', options, {
      cgroupRoot: 'string?',
      limits: 'object?',
      reserved: 'list?',
      qosReserved: 'object?',
      nodeRef: 'object?',
      cpuCfsQuota: 'boolean?',
      cpuCfsQuotaPeriodUs: 'positive?',
      podPidsLimit: 'whole?',
      memoryQos: 'string?',
    });
    checkComponents('PodCgroups', components, { open: 'function' });
    this.#open = components.open;
    this.#hasExclusiveCpus = components.hasExclusiveCpus ?? (() => false);
    this.#clock = components.clock ?? systemClock;
    this.#logger = components.logger ?? silentLogger;
    this.#recorder = components.recorder ?? noEvents;
    const metrics = components.metrics ?? noMetrics;
    this.#timed = cgroupTimer(metrics, this.#clock);
    this.#reportMemory = options.memoryQos === undefined ? () => undefined : memoryProtectionGauges(metrics);
    checkMemoryOptions(options);
    this.#options = options;
    this.#root = parseCgroupfsPath(options.cgroupRoot ?? '/');
    this.#qos = qosNames(kubepodsName(this.#root));
  }

  /**
   * Creates the cgroups that contain all pods and maintains them until `signal` is aborted. @throws CgroupError if they
   * cannot be created
   */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    try {
      const { tree } = await this.#whenReady(signal);
      await tree.keep(signal);
    } catch (err) {
      if (!signal.aborted) throw err;
    }
  }

  /**
   * Retries until the cgroups are ready. Errors that only a change of configuration or machine can fix are thrown;
   * temporary ones are retried.
   */
  async #whenReady(signal: AbortSignal): Promise<Ready> {
    for (;;) {
      try {
        return await this.#ready(signal);
      } catch (err) {
        if (signal.aborted || (CgroupError.is(err) && LASTING.has(err.code))) throw err;
        this.#logger.error({ err }, 'Failed to create the cgroups of all pods');
      }
      await sleep(this.#clock, RETRY_MS, signal);
    }
  }

  /**
   * Returns the pod's cgroup in the form that runtimes expect in `cgroup_parent`. The driver is known once cgroups have
   * been opened, at the latest when the first pod's cgroup has been created. Until then, the path in the form of the
   * driver cgroupfs is returned.
   * @throws CgroupError `InvalidName`
   */
  podCgroupParent(pod: Pod): string {
    const name = this.#name(pod);
    return this.#manager?.path(name) ?? cgroupfsPath(name);
  }

  /** Returns the path of the cgroup that contains all pods, in the form of {@link podCgroupParent}. */
  kubepodsPath(): string {
    return this.#manager?.path(this.#qos.Guaranteed) ?? cgroupfsPath(this.#qos.Guaranteed);
  }

  /** Returns whether the pod's cgroup exists in all required hierarchies. */
  async exists(pod: Pod, signal: AbortSignal): Promise<boolean> {
    const { manager } = await this.#ready(signal);
    return await manager.exists(this.#name(pod));
  }

  /**
   * Returns whether the pod's cgroup exists and is the one that {@link ensure} configured, so that nothing needs to be
   * done.
   */
  async isEnsured(pod: Pod, signal: AbortSignal): Promise<boolean> {
    const { uid } = pod.metadata;
    if (!this.#limited.has(uid)) return false;
    const { manager } = await this.#ready(signal);
    const look = async (): Promise<boolean> => this.#limited.get(uid) === (await identityOf(manager, this.#name(pod)));
    return await this.#turns.run(uid, look, signal);
  }

  /**
   * Creates the pod's cgroup and sets its limits, unless this object has already done both. A cgroup that an earlier
   * process created may hold containers that exceed the pod's new limits. For such a cgroup, the call only raises
   * limits, and {@link differs} reports that the limits must be lowered after those of the containers.
   * @param pod the pod with its allocated resources
   * @returns whether anything was done
   * @throws CgroupError, including `Refused`: a pod whose limit cannot be set must not run without it
   */
  async ensure(pod: Pod, signal: AbortSignal): Promise<boolean> {
    const { manager } = await this.#ready(signal);
    const name = this.#name(pod);
    const { uid } = pod.metadata;
    const make = async (): Promise<boolean> => {
      const found = await identityOf(manager, name);
      const isThere = found !== undefined;
      if (isThere && this.#limited.get(uid) === found) return false;
      const config = this.wanted(pod);
      const { set, kept } = isThere ? growing(config, await heldBy(manager, name)) : { set: config, kept: {} };
      this.#held.delete(uid);
      try {
        await this.#timed('create', () => manager.create(name, set));
        this.#limited.set(uid, found ?? (await identityOf(manager, name)) ?? '');
        this.#set.set(uid, { ...config, ...kept });
      } catch (err) {
        if (!CgroupError.is(err) || err.code !== 'Busy') throw err;
        // The pod is already running and uses more than its limit. Setting the limit must not kill the pod. The pod's
        // next sync tries again.
        this.#logger.warn({ podUid: uid, err }, "The pod's cgroup uses more than its limit");
      }
      return true;
    };
    return await this.#turns.run(uid, make, signal);
  }

  /** Returns the limits that the pod's cgroup should have. @param pod the pod with its allocated resources */
  wanted(pod: Pod): ResourceConfig {
    return this.#wanted(pod);
  }

  /**
   * Returns whether the CPU or memory limits that were last set differ from the wanted ones; removed limits do not
   * count.
   */
  differs(pod: Pod): boolean {
    const set = this.#set.get(pod.metadata.uid);
    if (set === undefined) return false;
    const wanted = this.wanted(pod);
    return (['cpuShares', 'cpuQuotaUs', 'memoryBytes'] as const).some(
      (name) => wanted[name] && wanted[name] !== set[name],
    );
  }

  /**
   * Returns the current limits of the pod's cgroup; they are read once after each change by this object.
   * @throws CgroupError `Io`
   */
  async limits(pod: Pod, signal: AbortSignal): Promise<GroupLimits> {
    const { uid } = pod.metadata;
    const { manager } = await this.#ready(signal);
    const read = async (): Promise<GroupLimits> => {
      const held = this.#held.get(uid) ?? (await manager.read(this.#name(pod)));
      this.#held.set(uid, held);
      return held;
    };
    return this.#held.get(uid) ?? (await this.#turns.run(uid, read, signal));
  }

  /** Returns the last result of {@link limits}; `undefined` if it was not called since the last change. */
  knownLimits(uid: string): GroupLimits | undefined {
    return this.#held.get(uid);
  }

  /**
   * Sets limits of the pod: before its containers' limits are raised, or after they were lowered.
   * @param pod the pod with its allocated resources
   * @param config the limits to set. Default: all wanted limits
   * @throws CgroupError `Busy` if the pod uses more than its new limit; `Refused`
   */
  async update(pod: Pod, signal: AbortSignal, config: ResourceConfig = this.wanted(pod)): Promise<void> {
    const { uid } = pod.metadata;
    const { manager } = await this.#ready(signal);
    const update = async (): Promise<void> => {
      this.#held.delete(uid);
      await this.#timed('update', () => manager.update(this.#name(pod), config));
      this.#set.set(uid, { ...this.#set.get(uid), ...config });
    };
    await this.#turns.run(uid, update, signal);
  }

  /**
   * Kills the remaining processes in the pod's cgroup and removes the cgroup, whatever its QoS class. Resolves when the
   * cgroup no longer exists.
   * @throws CgroupError `NotRemoved`; try again
   */
  async destroy(uid: string, signal: AbortSignal): Promise<void> {
    const { manager } = await this.#ready(signal);
    const remove = async (): Promise<void> => {
      for (const name of this.#namesOf(uid)) await this.#timed('destroy', () => manager.destroy(name, signal));
      this.#limited.delete(uid);
      this.#held.delete(uid);
      this.#set.delete(uid);
    };
    await this.#turns.run(uid, remove, signal);
  }

  /** Sets the pod's cgroup to the minimum CPU shares. Used while the cgroup cannot be removed yet. */
  async reduceCpu(uid: string, signal: AbortSignal): Promise<void> {
    const { manager } = await this.#ready(signal);
    const reduce = async (): Promise<void> => {
      for (const name of this.#namesOf(uid)) {
        if (await manager.exists(name)) await manager.update(name, { cpuShares: MIN_CPU_SHARES });
      }
    };
    await this.#turns.run(uid, reduce, signal);
  }

  /** Returns the UIDs of all pods that have a cgroup in any hierarchy, whichever program created it. */
  async pods(signal: AbortSignal): Promise<ReadonlySet<string>> {
    const { manager } = await this.#ready(signal);
    const parts = await Promise.all(Object.values(this.#qos).map((name) => manager.children(name)));
    return new Set(parts.flat().flatMap((part) => podUidOf(part) ?? []));
  }

  /**
   * Sets the CPU shares and memory protection of the QoS cgroups from the sums of their pods' requests.
   * @param active the pods that hold resources of the node
   */
  async updateQos(active: readonly Pod[], signal: AbortSignal): Promise<void> {
    const { manager, keeper } = await this.#ready(signal);
    const { burstable, bestEffort } = qosShares(active);
    const { memoryQos, qosReserved } = this.#options;
    const memory = memoryQos && manager.version === 2 ? qosMemoryProtection(active, memoryQos) : undefined;
    if (memory !== undefined) this.#reportMemory(memory);
    const limits = qosReserved && qosMemoryLimits(active, qosReserved);
    const values = [burstable, bestEffort, memory?.allBytes, memory?.burstableBytes].join();
    const give = async (): Promise<void> => {
      if (!this.#areGiven(values)) {
        const isNews = this.#qosGiven?.values !== values;
        this.#qosGiven = undefined;
        const low = memory && { unified: { 'memory.low': String(memory.burstableBytes) } };
        const configs: [CgroupName, ResourceConfig][] = [
          [this.#qos.Burstable, { cpuShares: burstable, ...low }],
          [this.#qos.BestEffort, { cpuShares: bestEffort }],
        ];
        if (memory) configs.unshift([this.#qos.Guaranteed, { unified: { 'memory.min': String(memory.allBytes) } }]);
        for (const [name, config] of configs) {
          if (isNews) keeper.changed(name);
          await keeper.keep(name, config, () => manager.update(name, config));
        }
        this.#qosGiven = { values, atMs: this.#clock.monotonic() };
      }
      if (limits === undefined) return;
      await limitMemory(manager, this.#qos.Burstable, limits.burstableBytes);
      await limitMemory(manager, this.#qos.BestEffort, limits.bestEffortBytes);
    };
    // The updates run one after another, so the values of the latest call stay in effect.
    await this.#qosTurn.run(() => this.#timed('update', give), signal);
  }

  #areGiven(values: string): boolean {
    const given = this.#qosGiven;
    return given?.values === values && this.#clock.monotonic() < given.atMs + QOS_REPAIR_MS;
  }

  /**
   * Opens the machine's cgroups and creates the cgroups that contain all pods, once for all callers; continues if a
   * caller aborts.
   */
  async #ready(signal: AbortSignal): Promise<Ready> {
    this.#tree ??= this.#prepare().catch((err: unknown) => {
      this.#tree = undefined;
      throw CgroupError.from(err);
    });
    return await abortable(this.#tree, signal);
  }

  async #prepare(): Promise<Ready> {
    const manager = await this.#open();
    this.#manager = manager;
    const { limits = {}, reserved = [], nodeRef = { kind: 'Node', name: '' } } = this.#options;
    const tree = new PodTree(
      { manager, clock: this.#clock, logger: this.#logger, recorder: this.#recorder },
      { root: this.#root, kubepods: this.#qos.Guaranteed, limits, reserved, nodeRef },
    );
    await this.#timed('create', () => tree.make());
    return { manager, tree, keeper: new LimitKeeper({ manager, logger: this.#logger }) };
  }

  #name(pod: Pod): CgroupName {
    return podName(this.#qos[podQosClass(pod)], pod.metadata.uid);
  }

  /** Returns the possible names of the pod's cgroup; empty if the UID is not valid in a cgroup name. */
  #namesOf(uid: string): readonly CgroupName[] {
    try {
      return Object.values(this.#qos).map((parent) => podName(parent, uid));
    } catch (err) {
      if (CgroupError.is(err) && err.code === 'InvalidName') return [];
      throw err;
    }
  }
}

/** Returns a value that distinguishes the cgroup from another at the same path; `undefined` if it does not exist. */
async function identityOf(manager: CgroupManager, name: CgroupName): Promise<string | undefined> {
  if (manager.identity !== undefined) return await manager.identity(name);
  return (await manager.exists(name)) ? 'there' : undefined;
}

/**
 * Returns the current limits; `undefined` if they cannot be read. In that case, the kernel reports an unacceptable
 * limit when the limit is written.
 */
async function heldBy(manager: CgroupManager, name: CgroupName): Promise<GroupLimits | undefined> {
  try {
    return await manager.read(name);
  } catch {
    return undefined;
  }
}

function checkMemoryOptions({ memoryQos, qosReserved }: PodCgroupsOptions): void {
  if (memoryQos !== undefined && memoryQos !== 'None' && memoryQos !== 'TieredReservation') {
    throw new OptionsError(
      'PodCgroups',
      'memoryQos',
      `memoryQos must be None or TieredReservation, not ${String(memoryQos)}`,
    );
  }
  if (qosReserved === undefined) return;
  const { memoryPercent, allocatableBytes } = qosReserved;
  if (!Number.isInteger(memoryPercent) || memoryPercent < 0 || memoryPercent > 100) {
    throw new OptionsError(
      'PodCgroups',
      'qosReserved.memoryPercent',
      `qosReserved.memoryPercent must be a whole number from 0 to 100, not ${String(memoryPercent)}`,
    );
  }
  if (typeof allocatableBytes !== 'bigint' || allocatableBytes < 0n) {
    throw new OptionsError(
      'PodCgroups',
      'qosReserved.allocatableBytes',
      `qosReserved.allocatableBytes must be a bigint of at least 0, not ${String(allocatableBytes)}`,
    );
  }
}
