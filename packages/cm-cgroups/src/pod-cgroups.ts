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
  /** Asked once, when it is first needed, and again where it failed; `openCgroups` is one. */
  readonly open: () => Promise<CgroupManager>;
  /** Default: the machine's. */
  readonly clock?: Clock;
  /** Default: silent. */
  readonly logger?: Logger;
  /** Default: none. */
  readonly metrics?: Metrics;
  /** Told of the limits of all pods. Default: nobody. */
  readonly recorder?: EventRecorder;
}

export interface PodCgroupsOptions extends PodLimitOptions {
  /** The group that all others are made in, `cgroupRoot`; it has to be there. Default: `/`. */
  readonly cgroupRoot?: string;
  /** What all pods together are held to; see `listResourceConfig`. Huge pages are never limited here. Default: nothing. */
  readonly limits?: ResourceConfig;
  /** The groups beside those of pods that are held to what is reserved for them. Default: none. */
  readonly reserved?: readonly ReservedGroup[];
  /** Memory that classes above keep from those below (`qosReserved`); nothing where it is absent: the gate `QOSReserved` is off. */
  readonly qosReserved?: QosMemoryReserve;
  /** Whom events about the limits of all pods are about. */
  readonly nodeRef?: ObjectReference;
}

/** How often it is looked whether limits of the QoS groups that have not changed were reset. */
const QOS_REPAIR_MS = 60_000;
/** How often it is tried again to open the machine's groups. */
const RETRY_MS = 1000;
/** What stays wrong until somebody changes the configuration or the machine. */
const LASTING: ReadonlySet<CgroupErrorCode> = new Set([
  'UnsupportedDriver',
  'NoHierarchy',
  'MissingRoot',
  'InvalidName',
]);

interface Ready {
  readonly manager: CgroupManager;
  readonly tree: PodTree;
  /** Of the shares and the protection of memory of the QoS groups. */
  readonly keeper: LimitKeeper;
}

/**
 * The groups of pods (`pod_container_manager_linux.go` and `qos_container_manager_linux.go` in `pkg/kubelet/cm`). Everything
 * can be asked for at any time and again; what is done to one pod's group is done one after another.
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
   * The pods whose limits this object has set, and on which group: one that was ended between making a group and that may have left it without,
   * and so has one who removed it and made another.
   */
  readonly #limited = new Map<string, string>();
  /** What each pod's group was set to last. */
  readonly #set = new Map<string, ResourceConfig>();
  readonly #wanted = oncePer((pod: Pod) => podResourceConfig(pod, this.#options));
  /** What the kernel held each pod's group to when it was set last. */
  readonly #held = new Map<string, GroupLimits>();
  readonly #qosTurn = new Semaphore(1);
  /** What the QoS groups were given last, and when: most pods that come and go change nothing of it. */
  #qosGiven: { readonly values: string; readonly atMs: number } | undefined;
  #tree: Promise<Ready> | undefined;
  #manager: CgroupManager | undefined;
  readonly #startOnce = new StartOnce('PodCgroups');

  /** @throws CgroupError `InvalidName` for a root that is none; RangeError naming the option that makes no sense */
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

  /** Makes the groups that all pods are in, and keeps them, until `signal` is aborted. @throws CgroupError where they cannot be made */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    try {
      const { tree } = await this.#whenReady(signal);
      await tree.keep(signal);
    } catch (err) {
      if (!signal.aborted) throw err;
    }
  }

  /** What will not change by itself is told; what may, as a runtime that is away, is waited for. */
  async #whenReady(signal: AbortSignal): Promise<Ready> {
    for (;;) {
      try {
        return await this.#ready(signal);
      } catch (err) {
        if (signal.aborted || (CgroupError.is(err) && LASTING.has(err.code))) throw err;
        this.#logger.error({ err }, 'Failed to make the cgroups of all pods');
      }
      await sleep(this.#clock, RETRY_MS, signal);
    }
  }

  /**
   * The pod's group, as runtimes want it: their `cgroup_parent`. Which driver there is, is known once groups were opened, as
   * they are when a pod's group was made; before that it is as cgroupfs has it.
   * @throws CgroupError `InvalidName`
   */
  podCgroupParent(pod: Pod): string {
    const name = this.#name(pod);
    return this.#manager?.path(name) ?? cgroupfsPath(name);
  }

  /** The path of the group that all pods are in, as {@link podCgroupParent} has its own. */
  kubepodsPath(): string {
    return this.#manager?.path(this.#qos.Guaranteed) ?? cgroupfsPath(this.#qos.Guaranteed);
  }

  /** Whether the pod's group is there in all hierarchies that count. */
  async exists(pod: Pod, signal: AbortSignal): Promise<boolean> {
    const { manager } = await this.#ready(signal);
    return await manager.exists(this.#name(pod));
  }

  /** Whether the pod's group is there, and is the very one that {@link ensure} has set: one look tells that nothing is to be done. */
  async isEnsured(pod: Pod, signal: AbortSignal): Promise<boolean> {
    const { uid } = pod.metadata;
    if (!this.#limited.has(uid)) return false;
    const { manager } = await this.#ready(signal);
    const look = async (): Promise<boolean> => this.#limited.get(uid) === (await identityOf(manager, this.#name(pod)));
    return await this.#turns.run(uid, look, signal);
  }

  /**
   * Makes the pod's group and sets its limits, where that is not done. One that is there from an earlier process may hold containers that
   * are larger than the pod is to be: it grows here, and {@link differs} tells that it is still to shrink, after them.
   * @param pod as allocated
   * @returns whether that was to be done
   * @throws CgroupError, among them `Refused`: a pod whose limit cannot be set must not run without it
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
        // It runs already, and uses more than it may: it is not to end for that. Its next sync tries again.
        this.#logger.warn({ podUid: uid, err }, "The pod's cgroup uses more than its limit");
      }
      return true;
    };
    return await this.#turns.run(uid, make, signal);
  }

  /** What the pod's group is to be held to. @param pod as allocated */
  wanted(pod: Pod): ResourceConfig {
    return this.#wanted(pod);
  }

  /** Whether the pod's group was set to another share of CPU or memory last than it is to have; a limit that goes away does not count. */
  differs(pod: Pod): boolean {
    const set = this.#set.get(pod.metadata.uid);
    if (set === undefined) return false;
    const wanted = this.wanted(pod);
    return (['cpuShares', 'cpuQuotaUs', 'memoryBytes'] as const).some(
      (name) => wanted[name] && wanted[name] !== set[name],
    );
  }

  /**
   * What the pod's group is held to; read once after each time that this object has set it.
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

  /** As {@link limits} found them last; `undefined` where it has not been asked since they were set. */
  knownLimits(uid: string): GroupLimits | undefined {
    return this.#held.get(uid);
  }

  /**
   * Sets limits of the pod anew: before its containers get more, after they got less.
   * @param pod as allocated
   * @param config what is set; all that is wanted where absent
   * @throws CgroupError `Busy` where the pod uses more than it is to have, `Refused`
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
   * Kills what is left in the pod's group and removes it, in whichever class it is; resolves when it is gone.
   * @throws CgroupError `NotRemoved`: to be tried again
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

  /** Leaves a pod's group the least CPU time that there is: it is to go, and something still keeps it. */
  async reduceCpu(uid: string, signal: AbortSignal): Promise<void> {
    const { manager } = await this.#ready(signal);
    const reduce = async (): Promise<void> => {
      for (const name of this.#namesOf(uid)) {
        if (await manager.exists(name)) await manager.update(name, { cpuShares: MIN_CPU_SHARES });
      }
    };
    await this.#turns.run(uid, reduce, signal);
  }

  /** The UIDs of all pods that have a group in any hierarchy, whoever made it. */
  async pods(signal: AbortSignal): Promise<ReadonlySet<string>> {
    const { manager } = await this.#ready(signal);
    const parts = await Promise.all(Object.values(this.#qos).map((name) => manager.children(name)));
    return new Set(parts.flat().flatMap((part) => podUidOf(part) ?? []));
  }

  /**
   * Gives the QoS groups the shares that their pods ask for together, and the protection of memory.
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
    // One after another: what was given last is what they have.
    await this.#qosTurn.run(() => this.#timed('update', give), signal);
  }

  #areGiven(values: string): boolean {
    const given = this.#qosGiven;
    return given?.values === values && this.#clock.monotonic() < given.atMs + QOS_REPAIR_MS;
  }

  /** The work is everybody's: whoever waits for it may go away, and it goes on. */
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

  /** Where the pod's group may be; nowhere for a UID of which no group can be made. */
  #namesOf(uid: string): readonly CgroupName[] {
    try {
      return Object.values(this.#qos).map((parent) => podName(parent, uid));
    } catch (err) {
      if (CgroupError.is(err) && err.code === 'InvalidName') return [];
      throw err;
    }
  }
}

/** What a group is told by from another at its place; `undefined` where it is not there. */
async function identityOf(manager: CgroupManager, name: CgroupName): Promise<string | undefined> {
  if (manager.identity !== undefined) return await manager.identity(name);
  return (await manager.exists(name)) ? 'there' : undefined;
}

/** What a group is held to; `undefined` where that cannot be told: then the kernel says what is wrong with a limit. */
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
