import type { TopologyHint, TopologyHints } from '@node-agent/contracts';
import { type Container, isRestartableInit, type Pod } from '@node-agent/pod-spec';
import { containersOf } from '../containers-of.ts';
import { CpuSet } from '../cpuset/cpu-set.ts';
import { ContainerResourcesError } from '../errors.ts';
import type { CpuTopology } from '../machine/cpu-topology.ts';
import { isPodLevel } from '../pod-level.ts';
import { type CpuState, cpusOf, withCpus, withPodCpus } from './cpu-assignments.ts';
import { alignedCpus, type CpuSupply, cpuHints } from './cpu-hints.ts';
import type { StaticCpuOptions } from './cpu-options.ts';
import { checkCpuPool, dividedCpus, hasCpuPool } from './pod-cpus.ts';
import { exclusiveCpusOf, exclusiveCpusOfPod } from './requested-cpus.ts';
import { type CpuReservation, reservedCpus } from './reserved-cpus.ts';
import { takeDistributed } from './take-distributed.ts';
import { takePacked } from './take-packed.ts';

/** Result of an allocation, and the CPU state after it. */
export interface CpuAllocation {
  readonly state: CpuState;
  /** CPUs that were allocated now; `undefined` if the container needs none, or already had its CPUs. */
  readonly cpus?: CpuSet;
}

/**
 * Rules of the static policy: containers of Guaranteed pods that request whole CPUs get exclusive CPUs, and all other
 * containers share the rest (`pkg/kubelet/cm/cpumanager/policy_static.go`). The methods get the CPU state and return a
 * new one.
 */
export class StaticCpus {
  readonly topology: CpuTopology;
  readonly options: StaticCpuOptions;
  /** CPUs for the system and the kubelet, which no container can get exclusively. */
  readonly reserved: CpuSet;
  /** Whether the gate `PodLevelResourceManagers` is on. */
  readonly #podLevel: boolean;
  /** The reserved CPUs, and the other CPUs of their cores. */
  readonly #reservedCores: CpuSet;

  /** @throws ContainerResourcesError `InvalidOptions` if the reservation does not fit the machine */
  constructor(topology: CpuTopology, options: StaticCpuOptions, reservation: CpuReservation, podLevel: boolean) {
    this.topology = topology;
    this.options = options;
    this.#podLevel = podLevel;
    this.reserved = reservedCpus(topology, reservation, (available, count) => this.#take(available, count));
    const cores = topology.locationsOf(this.reserved).map(({ core }) => core);
    this.#reservedCores = topology.cpusIn('core', new Set(cores));
  }

  /** Returns all CPUs that containers can get exclusively, whether in use or not. */
  allocatable(): CpuSet {
    return this.topology.cpus.difference(this.reserved);
  }

  /** Returns the CPUs that a container can get exclusively now. */
  available({ shared }: CpuState): CpuSet {
    return shared.difference(this.reserved);
  }

  /** Returns the number of exclusive CPUs that a container gets for itself. */
  requestOf(pod: Pod, container: Container): number {
    return exclusiveCpusOf(pod, container, this.#podLevel);
  }

  /** Returns the number of exclusive CPUs that a pod as a whole needs. */
  requestOfPod(pod: Pod): number {
    return exclusiveCpusOfPod(pod, this.#podLevel);
  }

  /**
   * Allocates exclusive CPUs to a pod with pod-level resources and divides them among its containers (`AllocatePod`).
   * Does nothing if the pod or one of its containers already has CPUs. Upstream would allocate the CPUs of such a pod
   * again when the kubelet is restarted.
   * @param affinity NUMA nodes from which CPUs are taken first; `undefined` means any
   * @throws ContainerResourcesError `Refused`
   */
  allocatePod(state: CpuState, pod: Pod, affinity: TopologyHint['nodes']): CpuState {
    const { uid } = pod.metadata;
    const count = this.requestOfPod(pod);
    if (count === 0 || state.assignments.has(uid)) return state;
    const requests = (container: Container): number => this.requestOf(pod, container);
    checkCpuPool(pod, count, requests);
    this.#expectWholeCores(state.shared, count);
    const cpus = this.#choose(state, CpuSet.empty, count, affinity);
    const divided = dividedCpus(pod, cpus, requests, (available, needed) => this.#take(available, needed));
    const given = withPodCpus(state, uid, cpus);
    return { ...given, assignments: new Map(given.assignments).set(uid, divided) };
  }

  /**
   * Allocates the exclusive CPUs of a container. Does nothing if the container already has exclusive CPUs.
   * @param affinity NUMA nodes from which CPUs are taken first; `undefined` means any
   * @throws ContainerResourcesError `Refused`
   */
  allocate(state: CpuState, pod: Pod, container: Container, affinity: TopologyHint['nodes']): CpuAllocation {
    const count = this.requestOf(pod, container);
    if (count === 0) return { state };
    const { uid } = pod.metadata;
    // Comes before all checks, because a container keeps its CPUs when the kubelet is restarted. Upstream checks whole
    // cores first, and rejects a running pod on a full node.
    if (cpusOf(state, uid, container.name) !== undefined) return { state };
    const reusable = reusableCpus(state, pod, container);
    this.#expectWholeCores(state.shared.union(reusable), count);
    const cpus = this.#choose(state, reusable, count, affinity);
    return { state: withCpus(state, uid, container.name, cpus), cpus };
  }

  /** Returns the NUMA hints for the exclusive CPUs of a container (`GetTopologyHints`). */
  hints(state: CpuState, pod: Pod, container: Container): TopologyHints {
    const count = this.requestOf(pod, container);
    if (count === 0) return new Map();
    const held = cpusOf(state, pod.metadata.uid, container.name);
    if (held !== undefined && held.size !== count) return new Map([['cpu', []]]);
    const supply = held
      ? { available: held, reusable: CpuSet.empty }
      : { available: this.available(state), reusable: reusableCpus(state, pod, container) };
    return this.#hints(supply, count);
  }

  /** Returns the NUMA hints for the exclusive CPUs of a pod as a whole (`GetPodTopologyHints`). */
  podHints(state: CpuState, pod: Pod): TopologyHints {
    const count = this.requestOfPod(pod);
    if (count === 0) return new Map();
    const ofPod = state.pods?.get(pod.metadata.uid);
    if (ofPod !== undefined) {
      if (ofPod.size !== count) return new Map([['cpu', []]]);
      return this.#hints({ available: ofPod, reusable: CpuSet.empty }, count);
    }
    // The pod was admitted with another scope. Its containers keep what they have, so nothing is allocated.
    if (isPodLevel(pod, this.#podLevel) && state.assignments.has(pod.metadata.uid)) return new Map();
    if (isPodLevel(pod, this.#podLevel) && !hasCpuPool(pod, count, (one) => this.requestOf(pod, one))) {
      return new Map([['cpu', []]]);
    }
    let held = CpuSet.empty;
    for (const container of containersOf(pod)) {
      const cpus = cpusOf(state, pod.metadata.uid, container.name);
      if (cpus === undefined) continue;
      if (cpus.size !== this.requestOf(pod, container)) return new Map([['cpu', []]]);
      held = held.union(cpus);
    }
    const isComplete = held.size === count;
    const supply = isComplete
      ? { available: held, reusable: CpuSet.empty }
      : { available: this.available(state), reusable: held };
    return this.#hints(supply, count);
  }

  #hints(supply: CpuSupply, count: number): TopologyHints {
    return new Map([['cpu', cpuHints(this.topology, supply, count, this.options.alignBySocket)]]);
  }

  /**
   * Chooses CPUs of the NUMA nodes in `affinity` first, and the rest from any node. With `full-pcpus-only`, whole cores
   * are chosen from both. Upstream may split a core if the nodes have an odd number of CPUs, because one is reserved
   * (`allocateCPUs`).
   */
  #choose({ shared }: CpuState, reusable: CpuSet, count: number, affinity: TopologyHint['nodes']): CpuSet {
    const allocatable = shared.difference(this.reserved).union(reusable);
    const aligned = affinity && alignedCpus(this.topology, affinity, allocatable, this.options.alignBySocket);
    const unit = this.options.fullPhysicalCpusOnly ? this.topology.cpusPerCore : 1;
    const whole = aligned ? Math.min(count, aligned.size - (aligned.size % unit)) : 0;
    const first = aligned ? this.#take(aligned, whole) : CpuSet.empty;
    return first.union(this.#take(allocatable.difference(first), count - first.size));
  }

  #take(available: CpuSet, count: number): CpuSet {
    const { distributeAcrossCores, distributeAcrossNuma, fullPhysicalCpusOnly } = this.options;
    const order = distributeAcrossCores ? 'spread' : 'packed';
    if (distributeAcrossNuma) {
      const groupSize = fullPhysicalCpusOnly ? this.topology.cpusPerCore : 1;
      return takeDistributed(this.topology, available, count, { order, groupSize });
    }
    const alignUncoreCaches = this.options.preferAlignByUncoreCache;
    return takePacked(this.topology, available, count, { order, alignUncoreCaches });
  }

  /**
   * Checks that a request for whole cores is possible (`full-pcpus-only`). Unlike upstream, `usable` includes the CPUs
   * that the container reuses from init containers of its pod.
   * @throws ContainerResourcesError `Refused` with reason SMTAlignmentError
   */
  #expectWholeCores(usable: CpuSet, count: number): void {
    if (!this.options.fullPhysicalCpusOnly) return;
    const { cpusPerCore } = this.topology;
    if (count % cpusPerCore !== 0) {
      throw smtError(`requested ${count} cpus not multiple cpus per core = ${cpusPerCore}`);
    }
    const free = usable.difference(this.#reservedCores).size;
    if (count <= free) return;
    const amounts = `available physical CPUs = ${free}, requested CPUs = ${count}, CPUs per core = ${cpusPerCore}`;
    throw smtError(`not enough free physical CPUs: ${amounts}`);
  }
}

/**
 * Returns the CPUs that a container may reuse: the CPUs of init containers that finish before it starts, unless a
 * sidecar or main container of its pod has these CPUs (`updateCPUsToReuse`).
 */
function reusableCpus(state: CpuState, pod: Pod, container: Container): CpuSet {
  const { initContainers = [] } = pod.spec;
  let reusable = CpuSet.empty;
  for (const one of containersOf(pod)) {
    if (one.name === container.name) break;
    const cpus = cpusOf(state, pod.metadata.uid, one.name);
    if (cpus === undefined) continue;
    const finishes = initContainers.includes(one) && !isRestartableInit(one);
    reusable = finishes ? reusable.union(cpus) : reusable.difference(cpus);
  }
  return reusable;
}

function smtError(problem: string): ContainerResourcesError {
  const reason = 'SMTAlignmentError';
  return new ContainerResourcesError('Refused', `SMT Alignment Error: ${problem}`, { reason });
}
