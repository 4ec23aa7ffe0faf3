import type { TopologyHint, TopologyHints } from '@node-agent/contracts';
import type { Container, Pod } from '@node-agent/pod-spec';
import { containersOf } from '../containers-of.ts';
import { ContainerResourcesError } from '../errors.ts';
import { MemoryReuse } from '../memory/memory-reuse.ts';
import { blocksOf } from '../memory/memory-state.ts';
import { getsMemory } from '../memory/requested-memory.ts';
import { allocateMemory, allocatePodMemory, containerMemoryHints, podMemoryHints } from '../memory/static-memory.ts';
import { hasOwnResources, isPodLevel } from '../pod-level.ts';
import type { Ledger } from './ledger.ts';
import type { ResourceMetrics } from './metrics.ts';
import type { Policies } from './policies.ts';
import type { AlignedDevices } from './ports.ts';

/** NUMA affinity of each container of a pod, by container name. */
export type Affinities = Map<string, TopologyHint>;

/** Last words of the message that rejects a pod with pod-level resources, by topology manager scope. */
const FAILED = {
  pod: 'under pod-scope topology manager',
  container: 'with a container-level topology manager',
} as const;

/** Dependencies of a {@link PodAllocation}. */
export interface AllocationParts {
  readonly policies: Policies;
  /** The state from which CPUs and memory are allocated. */
  readonly ledger: Pick<Ledger, 'cpu' | 'memory'>;
  readonly devices: Pick<AlignedDevices, 'hints' | 'allocate'> | undefined;
  readonly metrics: ResourceMetrics;
}

/**
 * Allocates devices, CPUs and memory to the containers of one pod, aligned by the topology policy
 * (`scope_container.go`, `scope_pod.go`, `scope_none.go` in `pkg/kubelet/cm/topologymanager`). CPUs and memory are
 * allocated in the same tick in which their hints are computed. Devices are allocated last, because a device plugin may
 * take long.
 */
export class PodAllocation {
  readonly #parts: AllocationParts;
  readonly #pod: Pod;
  readonly #reuse = new MemoryReuse();
  /**
   * NUMA affinity of each container. The affinity of a container is set before the container's devices are allocated.
   */
  readonly affinities: Affinities;

  constructor(parts: AllocationParts, pod: Pod, affinities: Affinities) {
    this.#parts = parts;
    this.#pod = pod;
    this.affinities = affinities;
  }

  /**
   * Allocates the resources, or throws if a container cannot get them. @throws ContainerResourcesError `Refused`;
   * errors of the devices; the signal's reason
   */
  async run(signal: AbortSignal): Promise<void> {
    const { topology, scope } = this.#parts.policies;
    const forPod = scope === 'pod' && topology.name !== 'none' ? this.#aligned('pod', this.#podHints()) : undefined;
    if (forPod !== undefined && isPodLevel(this.#pod, this.#parts.policies.podLevel)) {
      for (const { name } of containersOf(this.#pod)) this.affinities.set(name, forPod);
      this.#allocatePodCpus(forPod);
      this.#allocatePodMemory(forPod);
      await this.#allocateDevices(signal);
      countAligned(this.#parts.metrics, this.#parts.policies, this.#pod);
      return;
    }
    for (const container of containersOf(this.#pod)) {
      const affinity = forPod ?? this.#aligned('container', this.#containerHints(container));
      this.affinities.set(container.name, affinity);
      this.#allocateCpus(container, affinity);
      this.#allocateMemory(container, affinity);
      if (forPod === undefined) await this.#parts.devices?.allocate(this.#pod, container, signal);
    }
    // Devices are allocated only after all CPUs and memory: another pod could take CPUs or memory while this pod waits
    // for devices.
    if (forPod !== undefined) await this.#allocateDevices(signal);
    countAligned(this.#parts.metrics, this.#parts.policies, this.#pod);
  }

  async #allocateDevices(signal: AbortSignal): Promise<void> {
    for (const container of containersOf(this.#pod)) {
      await this.#parts.devices?.allocate(this.#pod, container, signal);
    }
  }

  #allocatePodCpus({ nodes }: TopologyHint): void {
    const { ledger, metrics, policies } = this.#parts;
    const { cpus } = policies;
    if (cpus === undefined) return;
    const before = ledger.cpu;
    try {
      ledger.cpu = cpus.allocatePod(ledger.cpu, this.#pod, nodes);
    } catch (err) {
      metrics.cpuErrors.inc({});
      metrics.allocationErrors?.inc({ resource_name: 'cpu', source: 'pod' });
      throw err;
    }
    if (ledger.cpu === before) return;
    const own = containersOf(this.#pod).filter((container) => cpus.requestOf(this.#pod, container) > 0);
    metrics.cpuRequests.inc({}, own.length);
    this.#countDivided('cpu', own.length);
  }

  #allocatePodMemory(affinity: TopologyHint): void {
    const { ledger, metrics, policies } = this.#parts;
    if (policies.unusedMemory === undefined || !getsMemory(this.#pod, true)) return;
    metrics.memoryRequests.inc({});
    const before = ledger.memory;
    try {
      ledger.memory = allocatePodMemory(ledger.memory, this.#pod, affinity);
    } catch (err) {
      metrics.memoryErrors.inc({});
      metrics.allocationErrors?.inc({ resource_name: 'memory', source: 'pod' });
      throw err;
    }
    if (ledger.memory === before) return;
    const own = containersOf(this.#pod).filter((one) => hasOwnResources(this.#pod, one, policies.podLevel));
    this.#countDivided('memory', own.length);
  }

  /**
   * Counts, in the metrics, the containers of a pod to which a resource was allocated as a whole. @param own number of
   * containers with exclusive resources
   */
  #countDivided(resource: 'cpu' | 'memory', own: number): void {
    const { allocations, assignments } = this.#parts.metrics;
    const all = containersOf(this.#pod).length;
    allocations?.inc({ resource_name: resource, source: 'pod' }, all);
    assignments?.inc({ resource_name: resource, assignment_type: 'pod_exclusive' }, own);
    assignments?.inc({ resource_name: resource, assignment_type: 'pod_shared' }, all - own);
  }

  #podHints(): readonly TopologyHints[] {
    const { ledger, policies, devices } = this.#parts;
    return [
      ...(devices ? [devices.hints(this.#pod)] : []),
      ...(policies.cpus ? [policies.cpus.podHints(ledger.cpu, this.#pod)] : []),
      ...(policies.unusedMemory ? [podMemoryHints(ledger.memory, this.#pod, policies.podLevel)] : []),
    ];
  }

  #containerHints(container: Container): readonly TopologyHints[] {
    const { ledger, policies, devices } = this.#parts;
    if (policies.topology.name === 'none') return [];
    return [
      ...(devices ? [devices.hints(this.#pod, container)] : []),
      ...(policies.cpus ? [policies.cpus.hints(ledger.cpu, this.#pod, container)] : []),
      ...(policies.unusedMemory
        ? [containerMemoryHints(ledger.memory, this.#pod, container, this.#reuse, policies.podLevel)]
        : []),
    ];
  }

  #aligned(scope: 'pod' | 'container', hints: readonly TopologyHints[]): TopologyHint {
    const { policies, metrics } = this.#parts;
    const { affinity, admit } = policies.topology.merge(hints);
    if (admit) return affinity;
    if (this.#isGuaranteed) metrics.alignedFailures.inc({ scope, boundary: 'numa_node' });
    const reason = 'TopologyAffinityError';
    const problem = isPodLevel(this.#pod, policies.podLevel)
      ? `Pod Scope pod with pod-level resources failed admission ${FAILED[scope]}`
      : 'Resources cannot be allocated with Topology locality';
    throw new ContainerResourcesError('Refused', problem, { reason });
  }

  #allocateCpus(container: Container, { nodes }: TopologyHint): void {
    const { ledger, metrics, policies } = this.#parts;
    const { cpus } = policies;
    if (cpus === undefined || cpus.requestOf(this.#pod, container) === 0) return;
    const whole = { scope: 'container', boundary: 'physical_cpu' };
    const { fullPhysicalCpusOnly } = cpus.options;
    metrics.cpuRequests.inc({});
    try {
      const { state, cpus: taken } = cpus.allocate(ledger.cpu, this.#pod, container, nodes);
      ledger.cpu = state;
      if (taken) {
        metrics.allocations?.inc({ resource_name: 'cpu', source: 'node' });
        metrics.assignments?.inc({ resource_name: 'cpu', assignment_type: 'node_exclusive' });
      }
      if (fullPhysicalCpusOnly) metrics.aligned.inc(whole);
      if (taken && cpus.topology.sharesUncoreCache(taken)) {
        metrics.aligned.inc({ scope: 'container', boundary: 'uncore_cache' });
      }
    } catch (err) {
      metrics.cpuErrors.inc({});
      metrics.allocationErrors?.inc({ resource_name: 'cpu', source: 'node' });
      if (fullPhysicalCpusOnly) metrics.alignedFailures.inc(whole);
      throw err;
    }
  }

  #allocateMemory(container: Container, affinity: TopologyHint): void {
    const { ledger, metrics, policies } = this.#parts;
    if (policies.unusedMemory === undefined || !getsMemory(this.#pod, policies.podLevel)) return;
    metrics.memoryRequests.inc({});
    const before = ledger.memory;
    try {
      ledger.memory = allocateMemory(ledger.memory, this.#pod, container, affinity, this.#reuse, policies.podLevel);
    } catch (err) {
      metrics.memoryErrors.inc({});
      metrics.allocationErrors?.inc({ resource_name: 'memory', source: 'node' });
      throw err;
    }
    if (ledger.memory === before) return;
    const blocks = blocksOf(ledger.memory, this.#pod.metadata.uid, container.name) ?? [];
    metrics.allocations?.inc({ resource_name: 'memory', source: 'node' }, blocks.length);
    metrics.assignments?.inc({ resource_name: 'memory', assignment_type: 'node_exclusive' });
  }

  get #isGuaranteed(): boolean {
    return guaranteesOneNode(this.#parts.policies);
  }
}

/** Counts an admitted pod, or each of its containers, whose resources are guaranteed to be on one NUMA node. */
export function countAligned(metrics: ResourceMetrics, policies: Policies, pod: Pod): void {
  if (!guaranteesOneNode(policies)) return;
  const { scope } = policies;
  metrics.aligned.inc({ scope, boundary: 'numa_node' }, scope === 'pod' ? 1 : containersOf(pod).length);
}

function guaranteesOneNode({ topology }: Policies): boolean {
  return topology.name === 'single-numa-node';
}
