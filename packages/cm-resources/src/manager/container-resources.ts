import { posix } from 'node:path';
import {
  type Clock,
  checkComponents,
  checkOptions,
  OptionsError,
  StartOnce,
  sleep,
  untilAborted,
} from '@node-agent/async';
import type { AdmitResult, TopologyHint } from '@node-agent/contracts';
import { type Container, isRestartableInit, type Pod } from '@node-agent/pod-spec';
import { type Logger, type Metrics, withDefaults } from '@node-agent/telemetry';
import { containersOf } from '../containers-of.ts';
import { type CpuState, cpusOf } from '../cpu/cpu-assignments.ts';
import type { StaticCpus } from '../cpu/static-cpus.ts';
import type { MachineTopology } from '../machine/machine-topology.ts';
import { blocksOf, type MemoryBlock } from '../memory/memory-state.ts';
import { isPodLevel } from '../pod-level.ts';
import type { StateFiles } from '../state/state-file.ts';
import { Admissions } from './admissions.ts';
import { CpusetReconciler } from './cpuset-reconciler.ts';
import { Ledger } from './ledger.ts';
import { beginSeries, type ResourceMetrics, resourceMetrics, showCpus } from './metrics.ts';
import { type Policies, type PolicyOptions, policiesOf } from './policies.ts';
import { type AlignedDevices, type NotedWait, type ResourceContainers, type ResourcePods, unnoted } from './ports.ts';

/** Dependencies of {@link ContainerResources}. */
export interface ContainerResourcesComponents {
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly metrics?: Metrics;
  readonly fs: StateFiles;
  readonly pods: ResourcePods;
  /**
   * Updates the CPUs of running containers when the shared pool changes. Without `containers`, the CPUs of running
   * containers are not updated.
   */
  readonly containers?: ResourceContainers;
  /** Devices to align with CPUs and memory. Without `devices`, only CPUs and memory are aligned. */
  readonly devices?: AlignedDevices;
  /** Records what a pod waits for. Default: not recorded. */
  readonly noted?: NotedWait;
}

/** Options of {@link ContainerResources}. */
export interface ContainerResourcesOptions extends PolicyOptions {
  /** Absolute path of the directory for the state files: the kubelet's root directory. */
  readonly directory: string;
  /** CPUs and memory of the machine. Required unless all policies are off. */
  readonly machine?: MachineTopology;
  /** `cpuManagerReconcilePeriod` in milliseconds. Default: 10,000. */
  readonly reconcilePeriodMs?: number;
}

/** CPUs and memory nodes of a container, in the kernel's notation; empty for no restriction. */
export interface ContainerPlacement {
  /** Value of the cgroup file `cpuset.cpus`. */
  readonly cpus: string;
  /** Value of the cgroup file `cpuset.mems`. */
  readonly mems: string;
  /** Whether the CPUs are exclusive, so that no container of another pod may use them. */
  readonly hasExclusiveCpus: boolean;
}

const RECONCILE_PERIOD_MS = 10_000;

/**
 * Gives containers exclusive CPUs, and memory and devices of the same NUMA nodes (CPU manager, memory manager and
 * topology manager: `pkg/kubelet/cm/{cpumanager,memorymanager,topologymanager}`). Resources are allocated when a pod is
 * admitted and belong to the pod until it is gone. Allocations are on disk before the pod is admitted.
 */
export class ContainerResources {
  readonly #metrics: ResourceMetrics;
  readonly #components: ContainerResourcesComponents;
  readonly #clock: Clock;
  readonly #policies: Policies;
  readonly #ledger: Ledger;
  readonly #reconciler: CpusetReconciler;
  readonly #admissions: Admissions;
  readonly #periodMs: number;
  readonly #startOnce = new StartOnce('ContainerResources');
  #loading: Promise<void> | undefined;
  /** The CPUs that the metrics show. */
  #shownCpus: CpuState | undefined;

  /**
   * @throws OptionsError that names the invalid component or option
   * @throws ContainerResourcesError `InvalidOptions` if the policies do not fit the machine
   */
  constructor(components: ContainerResourcesComponents, options: ContainerResourcesOptions) {
    checkOptions('ContainerResources', options, {
      directory: 'string',
      machine: 'object?',
      reconcilePeriodMs: 'positive?',
      cpuManagerPolicy: [undefined, 'none', 'static'],
      cpuManagerPolicyOptions: 'object?',
      cpuOptionGates: 'object?',
      podLevelResourceManagers: 'boolean?',
      reservedSystemCPUs: 'string?',
      memoryManagerPolicy: [undefined, 'None', 'Static'],
      reservedMemory: 'list?',
      topologyManagerPolicy: [undefined, 'none', 'best-effort', 'restricted', 'single-numa-node'],
      topologyManagerScope: [undefined, 'container', 'pod'],
      topologyManagerPolicyOptions: 'object?',
      nodeReservation: 'object?',
    });
    checkComponents('ContainerResources', components, {
      fs: ['mkdir', 'open', 'readdir', 'remove', 'writeFileAtomic'],
      pods: ['active', 'sourcesReady'],
    });
    if (!posix.isAbsolute(options.directory)) {
      const problem = `directory: must be an absolute path, not ${JSON.stringify(options.directory)}`;
      throw new OptionsError('ContainerResources', 'directory', problem);
    }
    const { clock, logger, metrics, fs, pods, containers, devices, noted = unnoted } = withDefaults(components);
    this.#metrics = resourceMetrics(metrics, options.podLevelResourceManagers ?? false);
    this.#components = components;
    this.#clock = clock;
    this.#policies = policiesOf(options, options.machine);
    this.#ledger = new Ledger({ fs, logger }, posix.resolve(options.directory), this.#policies);
    this.#periodMs = options.reconcilePeriodMs ?? RECONCILE_PERIOD_MS;
    const freeGone = (): void => this.#admissions.freeGone();
    this.#reconciler = new CpusetReconciler({ clock, logger, ledger: this.#ledger, pods, containers, freeGone });
    this.#admissions = new Admissions({
      ...{ clock, logger, pods, devices, noted },
      ...{ metrics: this.#metrics, policies: this.#policies, ledger: this.#ledger },
      load: () => this.load(),
      onChanged: () => this.#changed(),
    });
  }

  /** Whether any policy allocates something; otherwise pods get only their devices. */
  get isActive(): boolean {
    const { cpus, unusedMemory, topology } = this.#policies;
    return cpus !== undefined || unusedMemory !== undefined || topology.name !== 'none';
  }

  /**
   * Reads the state files, and writes those that are missing or must change; all methods that need them call `load`
   * first. If loading fails, the kubelet must not run. The operator must drain the node and remove the file that the
   * error names. A failed write is not an error: it is logged, and repeated once per reconcile period after
   * {@link start}.
   * @throws ContainerResourcesError `StateRefused`; errors of the file system
   */
  load(): Promise<void> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  /** Updates the CPUs of running containers until the signal is aborted. @throws as {@link load} */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    await this.load();
    if (this.#policies.cpus === undefined) await this.#retryWrite(signal);
    else await this.#reconciler.run(this.#periodMs, signal);
  }

  /**
   * Allocates a pod's devices, CPUs and memory, or rejects the pod in upstream's wording. Returns synchronously if the
   * pod can get none of these resources. Compatible with `AdmitHandler` of kubelet-core: when the result is returned,
   * the allocation is on disk; {@link release} reverts it.
   */
  admit(pod: Pod, _others: readonly Pod[], signal: AbortSignal): AdmitResult | Promise<AdmitResult> {
    return this.#admissions.admit(pod, signal);
  }

  /** Confirms the allocation, because the admitted pod will run. */
  admitted(pod: Pod): void {
    this.#admissions.admitted(pod);
  }

  /** Reverts the allocation, because the admitted pod will not run after all. */
  release(pod: Pod): void {
    this.#admissions.release(pod);
  }

  /**
   * Allocates CPUs and memory to a pod that runs from before a restart of the kubelet and is not admitted again. Has an
   * effect only if the pod has none, because the policy is new.
   */
  resumed(pod: Pod, signal: AbortSignal): void {
    void this.#admissions.resume(pod, signal);
  }

  /**
   * Returns the NUMA nodes from which a container's devices are taken first; `undefined` means any node (upstream:
   * `GetAffinity`).
   */
  affinityOf(podUid: string, container: string): TopologyHint['nodes'] {
    return this.#admissions.affinityOf(podUid, container);
  }

  /**
   * Returns the CPUs and memory nodes with which a container must be created. Called before each creation of the
   * container (upstream: `PreCreateContainer`).
   */
  placementOf(podUid: string, container: string): ContainerPlacement {
    const { cpu, memory } = this.#ledger;
    const exclusive = cpusOf(cpu, podUid, container);
    const nodes = (blocksOf(memory, podUid, container) ?? []).flatMap((block) => block.nodes);
    return {
      cpus: `${this.#ledger.cpusOf(podUid, container)}`,
      mems: [...new Set(nodes)].sort((a, b) => a - b).join(),
      hasExclusiveCpus: exclusive?.isEmpty === false,
    };
  }

  /**
   * Records that a container is about to start (upstream: `PreStartContainer`). The memory of earlier init containers
   * is freed, because these have finished.
   * @param cpus the CPUs with which the container was created
   */
  starting(pod: Pod, container: Container, containerId: string, cpus: string): void {
    const { uid } = pod.metadata;
    if (this.#policies.cpus !== undefined) {
      this.#reconciler.starting({ podUid: uid, name: container.name, id: containerId }, cpus);
    }
    if (this.#policies.unusedMemory === undefined) return;
    const initContainers = pod.spec.initContainers ?? [];
    // Ephemeral containers are not in this list: they may start while an init container runs.
    const at = containersOf(pod).findIndex(({ name }) => name === container.name);
    const finished = initContainers.slice(0, Math.max(at, 0)).filter((one) => !isRestartableInit(one));
    const freed = finished.filter(({ name }) => this.#ledger.removeMemory(uid, name));
    if (freed.length > 0) this.#ledger.writeSoon();
  }

  /**
   * Reports whether a container has exclusive CPUs, so that a CFS quota would only slow it down
   * (`ContainerHasExclusiveCPUs`, `PodHasExclusiveCPUs` in `pkg/kubelet/cm/container_manager_linux.go`).
   * @param container name of the container. If absent, the result is for the cgroup of the pod: true if any container
   * has exclusive CPUs or, with pod-level resources, if all containers have exclusive CPUs
   */
  hasExclusiveCpus(pod: Pod, container?: Container): boolean {
    const { podLevel, cpus } = this.#policies;
    const own = (one: Container): boolean =>
      cpusOf(this.#ledger.cpu, pod.metadata.uid, one.name)?.isEmpty === false &&
      (!isPodLevel(pod, podLevel) || (cpus !== undefined && cpus.requestOf(pod, one) > 0));
    if (container !== undefined) return own(container);
    return isPodLevel(pod, podLevel) ? containersOf(pod).every(own) : containersOf(pod).some(own);
  }

  /** Returns the exclusive CPUs of a container; empty if the container has none. */
  exclusiveCpusOf(podUid: string, container: string): readonly number[] {
    return cpusOf(this.#ledger.cpu, podUid, container)?.list() ?? [];
  }

  /** Returns the memory of a container; empty if no memory is allocated to the container. */
  memoryOf(podUid: string, container: string): readonly MemoryBlock[] {
    return blocksOf(this.#ledger.memory, podUid, container) ?? [];
  }

  /** Returns the CPUs that containers can have exclusively, in use or not; empty with the policy `none`. */
  allocatableCpus(): readonly number[] {
    return this.#policies.cpus?.allocatable().list() ?? [];
  }

  /** Returns the memory that containers can have, in use or not, by NUMA node; empty with the policy `None`. */
  allocatableMemory(): readonly MemoryBlock[] {
    return [...(this.#policies.unusedMemory ?? [])].flatMap(([id, { tables }]) =>
      [...tables].flatMap(([resource, { allocatable: bytes }]) =>
        bytes === 0 ? [] : [{ nodes: [id], resource, bytes }],
      ),
    );
  }

  async #load(): Promise<void> {
    const { cpus, topology } = this.#policies;
    await this.#ledger.load(async () => (await this.#components.containers?.known?.()) ?? new Map());
    beginSeries(this.#metrics, { cpus: cpus !== undefined, topology: topology.name !== 'none' });
    if (cpus) this.#showCpus(cpus);
  }

  /**
   * Repeats the write of the state files until it has succeeded, and then waits for the signal. With a CPU policy, the
   * reconciler repeats the write.
   */
  async #retryWrite(signal: AbortSignal): Promise<void> {
    while (this.#ledger.isUnwritten && !signal.aborted) {
      this.#ledger.retryWrite();
      await sleep(this.#clock, this.#periodMs, signal).catch(() => {});
    }
    await untilAborted(signal);
  }

  #changed(): void {
    const { cpus } = this.#policies;
    // If only memory was allocated or freed, no container needs other CPUs.
    if (cpus === undefined || this.#ledger.cpu === this.#shownCpus) return;
    this.#showCpus(cpus);
    this.#reconciler.kick();
  }

  #showCpus(cpus: StaticCpus): void {
    this.#shownCpus = this.#ledger.cpu;
    showCpus(this.#metrics, cpus, this.#shownCpus);
  }
}
