import { type Clock, type GateTurn, LendingGate, sleep, untilAborted } from '@node-agent/async';
import type { AdmitResult, TopologyHint } from '@node-agent/contracts';
import { isExtendedResource, type Pod, podQosClass } from '@node-agent/pod-spec';
import { errorText, type Logger, noMetrics } from '@node-agent/telemetry';
import { containersOf } from '../containers-of.ts';
import { ContainerResourcesError } from '../errors.ts';
import { getsMemory } from '../memory/requested-memory.ts';
import { type Affinities, countAligned, PodAllocation } from './allocation.ts';
import type { HeldContainers, Ledger } from './ledger.ts';
import { type ResourceMetrics, resourceMetrics } from './metrics.ts';
import type { Policies } from './policies.ts';
import { type AlignedDevices, mayRun, type NotedWait, type ResourcePods } from './ports.ts';
import { UndecidedPods } from './undecided-pods.ts';

/** Dependencies of {@link Admissions}. */
interface AdmissionParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: ResourceMetrics;
  readonly policies: Policies;
  readonly ledger: Ledger;
  readonly pods: ResourcePods;
  readonly devices: AlignedDevices | undefined;
  readonly noted: NotedWait;
  /** Resolves when the state files of an earlier process are read. */
  readonly load: () => Promise<void>;
  /** Called when CPUs or memory were allocated or freed. */
  readonly onChanged: () => void;
}

/**
 * Time in ms after which the attempt of a pod to get its resources no longer delays the attempts of other pods: a device
 * plugin is slow.
 */
const SLOW_MS = 1000;

/** Metrics of attempts that only show whether a pod would get its resources. */
const UNCOUNTED = resourceMetrics(noMetrics, false);

/** Interval in ms at which a waiting pod's admission checks whether a pod that holds resources is gone. */
const GONE_LOOK_MS = 250;

/**
 * Allocates resources to pods in admission, and frees the resources of pods that no longer exist. The pods try to get
 * their resources one after another, in order of arrival, because a later pod could take what an earlier one needs for
 * its next container.
 */
export class Admissions {
  readonly #parts: AdmissionParts;
  readonly #attempts: LendingGate;
  readonly #undecided = new UndecidedPods();
  /** NUMA affinities of each pod's containers, by pod UID. */
  readonly #affinities = new Map<string, Affinities>();

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
    this.#attempts = new LendingGate({ clock: parts.clock }, { concurrency: 1, overdueMs: SLOW_MS });
  }

  /** Admits or rejects a pod; returns synchronously if the pod can get no resources of its own. */
  admit(pod: Pod, signal: AbortSignal): AdmitResult | Promise<AdmitResult> {
    const { metrics, policies } = this.#parts;
    metrics.admissionRequests.inc({});
    if (needsResources(pod)) return this.#measured(pod, signal);
    countAligned(metrics, policies, pod);
    metrics.admissionMs.observe({}, 0);
    return { admit: true };
  }

  admitted(pod: Pod): void {
    this.#undecided.end(pod.metadata.uid);
    this.#parts.devices?.admitted(pod);
  }

  release(pod: Pod): void {
    const { devices, ledger } = this.#parts;
    const { uid } = pod.metadata;
    devices?.release(pod);
    const before = this.#undecided.before(uid);
    if (before === undefined) return;
    this.#revert(uid, before);
    this.#undecided.end(uid);
    if (before.cpus.size + before.memory.size === 0) this.#affinities.delete(uid);
    // The state is written even if the pod frees nothing: its memory may now be assigned to other NUMA nodes of its
    // group.
    ledger.writeSoon();
  }

  /**
   * Allocates CPUs and memory to a pod that runs from before a restart of the kubelet, if the pod has none because the
   * policy is new. The pod continues without them if they are not free: a restart must not fail a running pod (N1).
   * Devices are not considered, because their plugins register later.
   */
  async resume(pod: Pod, signal: AbortSignal): Promise<void> {
    const { ledger, load, logger, onChanged } = this.#parts;
    const { uid, name } = pod.metadata;
    if (podQosClass(pod) !== 'Guaranteed') return;
    await load().catch(async () => await untilAborted(signal));
    const before = ledger.held(uid);
    if (signal.aborted || !this.#lacksResources(pod, before)) return;
    try {
      await new PodAllocation({ ...this.#parts, devices: undefined }, pod, new Map()).run(signal);
    } catch (err) {
      ledger.revert(uid, before);
      logger.warn({ err, podUid: uid, pod: name }, 'Failed to allocate CPUs and memory to a running pod that has none');
      return;
    }
    onChanged();
    ledger.writeSoon();
  }

  #lacksResources(pod: Pod, { cpus, memory }: HeldContainers): boolean {
    const gets = this.#resourcesOf(pod);
    return (gets.cpus && cpus.size === 0) || (gets.memory && memory.size === 0);
  }

  /** Returns which resources the policies allocate to the pod or its containers. */
  #resourcesOf(pod: Pod): { readonly cpus: boolean; readonly memory: boolean } {
    const { cpus, unusedMemory, podLevel } = this.#parts.policies;
    // A pod with a fractional number of CPUs has none as a whole, but its containers may get some.
    const getsCpus = (): boolean => containersOf(pod).some((one) => (cpus?.requestOf(pod, one) ?? 0) > 0);
    return {
      cpus: cpus !== undefined && (cpus.requestOfPod(pod) > 0 || getsCpus()),
      memory: unusedMemory !== undefined && getsMemory(pod, podLevel),
    };
  }

  affinityOf(podUid: string, container: string): TopologyHint['nodes'] {
    return this.#affinities.get(podUid)?.get(container)?.nodes;
  }

  /** Frees the CPUs and memory of pods that are gone (upstream: `removeStaleState`). */
  freeGone(): void {
    const { pods, ledger, logger, onChanged } = this.#parts;
    for (const uid of this.#absent(this.#affinities.keys())) if (!mayRun(pods, uid)) this.#affinities.delete(uid);
    const gone = this.#leaving().filter((uid) => !mayRun(pods, uid));
    for (const uid of gone) {
      ledger.removePod(uid);
      logger.info({ podUid: uid }, 'Freed the CPUs and memory of a pod that is gone');
    }
    if (gone.length === 0) {
      ledger.retryWrite();
      return;
    }
    onChanged();
    ledger.writeSoon();
  }

  async #measured(pod: Pod, signal: AbortSignal): Promise<AdmitResult> {
    const { clock, metrics, policies } = this.#parts;
    const startedMs = clock.monotonic();
    try {
      await this.#admit(pod, signal);
      return { admit: true };
    } catch (err) {
      this.release(pod);
      if (policies.topology.name !== 'none') metrics.admissionErrors.inc({});
      return rejection(err);
    } finally {
      metrics.admissionMs.observe({}, clock.monotonic() - startedMs);
    }
  }

  async #admit(pod: Pod, signal: AbortSignal): Promise<void> {
    const { devices, ledger, load, onChanged } = this.#parts;
    const { uid } = pod.metadata;
    // If the state of an earlier process is invalid, the kubelet exits. Until the kubelet has exited, no pod is
    // rejected because of the invalid state.
    await load().catch(async () => await untilAborted(signal));
    signal.throwIfAborted();
    await devices?.load();
    const before = ledger.held(uid);
    this.#undecided.begin(uid, before);
    devices?.begin(pod);
    await devices?.pluginsReady?.(pod, signal);
    await this.#allocate(pod, signal);
    if (ledger.hasMore(uid, before)) {
      onChanged();
      await ledger.write();
    }
    await devices?.stored();
  }

  /**
   * Allocates the resources of a pod. If resources are missing that other pods may soon free, waits for these pods and
   * tries again.
   */
  async #allocate(pod: Pod, signal: AbortSignal): Promise<void> {
    const { devices } = this.#parts;
    // A pod that has waited goes before pods that have not tried yet.
    let turn: GateTurn = 'normal';
    for (;;) {
      let changes = 0;
      const attempt = async (): Promise<void> => {
        ({ changes } = this.#undecided);
        await this.#attempt(pod, signal);
      };
      try {
        await this.#attempts.run(turn, attempt, signal);
        return;
      } catch (err) {
        const isOutdated = this.#undecided.changes !== changes;
        this.#giveUp(pod);
        signal.throwIfAborted();
        const mayRetry =
          // Another pod has freed resources since this attempt failed.
          (isOutdated && (await this.#wouldFit(pod, [], devices, signal))) ||
          (ContainerResourcesError.is(err)
            ? await this.#waited(pod, signal)
            : await devices?.waitedForHolder?.(pod, signal, 'devices'));
        if (!mayRetry) throw err;
        turn = 'urgent';
      }
    }
  }

  async #attempt(pod: Pod, signal: AbortSignal): Promise<void> {
    this.freeGone();
    const affinities: Affinities = new Map();
    this.#affinities.set(pod.metadata.uid, affinities);
    await new PodAllocation(this.#parts, pod, affinities).run(signal);
  }

  /**
   * Frees what a pod got in its last attempt. The next attempt may use other NUMA nodes, so the devices are chosen again,
   * too.
   */
  #giveUp(pod: Pod): void {
    const { devices, ledger } = this.#parts;
    const { uid } = pod.metadata;
    devices?.giveUp(pod);
    this.#revert(uid, this.#undecided.before(uid) ?? ledger.held(uid));
    this.#undecided.gaveUp();
  }

  /** Frees the CPUs and memory that a pod got since `before`. */
  #revert(uid: string, before: HeldContainers): void {
    const { ledger, onChanged } = this.#parts;
    const isMore = ledger.hasMore(uid, before);
    ledger.revert(uid, before);
    // While the pod waited for its devices, containers may have been updated to CPUs without those of the pod.
    if (isMore) onChanged();
  }

  /** Waits for a pod that may soon free CPUs, memory or devices. @returns false if no wait can help */
  async #waited(pod: Pod, signal: AbortSignal): Promise<boolean> {
    const { clock, devices, ledger, noted } = this.#parts;
    const { uid } = pod.metadata;
    const wait = async (what: string, work: () => Promise<void>): Promise<true> => {
      await noted({ podUid: uid, what }, work, signal);
      return true;
    };
    const gets = this.#resourcesOf(pod);
    // Returns whether another pod holds resources of a kind that this pod gets, too.
    const competes = (other: string): boolean => {
      const held = ledger.held(other);
      return (gets.cpus && held.cpus.size > 0) || (gets.memory && held.memory.size > 0);
    };
    let { changes } = this.#undecided;
    const holders = (): readonly string[] =>
      this.#undecided.others(uid, (other, before) => ledger.hasMore(other, before) && competes(other));
    const undecided = holders();
    if (undecided.length > 0 && (await this.#wouldFit(pod, undecided, devices, signal))) {
      return await wait('another pod that is not admitted yet holds CPUs or memory', async () => {
        // The wait goes on if a pod gives up what it got only for a moment. Otherwise, two pods that wait for a third one
        // would wake each other without end.
        do {
          await this.#undecided.changed(changes, signal);
          ({ changes } = this.#undecided);
        } while (holders().join() === undecided.join());
      });
    }
    const leaving = this.#leaving().filter(competes);
    const [ending] = leaving;
    if (ending !== undefined && (await this.#wouldFit(pod, [...undecided, ...leaving], devices, signal))) {
      return await wait(`termination of pod ${ending}, which holds CPUs or memory until then`, async () => {
        while (this.#leaving().includes(ending)) {
          await sleep(clock, GONE_LOOK_MS, signal);
          this.freeGone();
        }
      });
    }
    if (!(await this.#wouldFit(pod, [...undecided, ...leaving], undefined, signal))) return false;
    return (await devices?.waitedForHolder?.(pod, signal, 'alignment')) ?? false;
  }

  /**
   * Returns whether a pod could get its CPUs and memory if other pods had none.
   * @param devices the devices with which they are aligned. If `undefined`, devices do not count
   */
  async #wouldFit(
    pod: Pod,
    without: readonly string[],
    devices: AlignedDevices | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { ledger, policies } = this.#parts;
    const hints = devices && {
      hints: (...args: Parameters<AlignedDevices['hints']>) => devices.hints(...args),
      allocate: async () => {},
    };
    const parts = { policies, metrics: UNCOUNTED, ledger: ledger.without(without), devices: hints };
    try {
      await new PodAllocation(parts, pod, new Map()).run(signal);
      return true;
    } catch (err) {
      if (ContainerResourcesError.is(err)) return false;
      throw err;
    }
  }

  /**
   * Returns the pods that hold CPUs or memory but are not active. New pods wait for the resources of these pods. Before
   * all pod sources are ready, this includes pods that a source has not reported yet.
   */
  #leaving(): readonly string[] {
    return this.#absent(this.#parts.ledger.uids());
  }

  /** Returns the UIDs of pods that are neither active nor in admission. */
  #absent(uids: Iterable<string>): readonly string[] {
    const open = [...uids].filter((uid) => !this.#undecided.has(uid));
    if (open.length === 0) return [];
    const active = new Set(this.#parts.pods.active().map(({ metadata }) => metadata.uid));
    return open.filter((uid) => !active.has(uid));
  }
}

/** Returns whether a pod can get CPUs, memory or devices of its own. */
function needsResources(pod: Pod): boolean {
  if (podQosClass(pod) === 'Guaranteed') return true;
  return containersOf(pod).some(({ resources }) => Object.keys(resources?.limits ?? {}).some(isExtendedResource));
}

/** Returns the rejection in upstream's wording (`GetPodAdmitResult`, `pkg/kubelet/cm/admission/errors.go`). */
function rejection(err: unknown): AdmitResult {
  if (ContainerResourcesError.is(err) && err.reason !== undefined) {
    return { admit: false, reason: err.reason, message: err.message };
  }
  const message = `Allocate failed due to ${errorText(err)}, which is unexpected`;
  return { admit: false, reason: 'UnexpectedAdmissionError', message };
}
