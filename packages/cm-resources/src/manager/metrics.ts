import type { Counter, Gauge, Histogram, Metrics } from '@node-agent/telemetry';
import { type CpuState, exclusiveCpus } from '../cpu/cpu-assignments.ts';
import type { StaticCpus } from '../cpu/static-cpus.ts';

type Aligned = Counter<'scope' | 'boundary'>;

/** Metrics of the three managers, with upstream's names (`pkg/kubelet/metrics/metrics.go`). */
export interface ResourceMetrics {
  readonly cpuRequests: Counter;
  readonly cpuErrors: Counter;
  readonly sharedMilliCpus: Gauge;
  readonly exclusiveCpus: Gauge;
  readonly cpusPerNuma: Gauge<'numa_node'>;
  readonly memoryRequests: Counter;
  readonly memoryErrors: Counter;
  readonly admissionRequests: Counter;
  readonly admissionErrors: Counter;
  readonly admissionMs: Histogram;
  readonly aligned: Aligned;
  readonly alignedFailures: Aligned;
  /** Allocations by resource and source; absent without the gate `PodLevelResourceManagers`. */
  readonly allocations: Counter<'resource_name' | 'source'> | undefined;
  readonly allocationErrors: Counter<'resource_name' | 'source'> | undefined;
  readonly assignments: Counter<'resource_name' | 'assignment_type'> | undefined;
}

export function resourceMetrics(metrics: Metrics, podLevel: boolean): ResourceMetrics {
  const counter = (name: string, help: string): Counter => metrics.counter({ name: `kubelet_${name}`, help });
  const gauge = (name: string, help: string): Gauge => metrics.gauge({ name: `kubelet_${name}`, help });
  const aligned = (name: string, help: string): Aligned =>
    metrics.counter({
      name: `kubelet_container_aligned_compute_resources_${name}`,
      help,
      labels: ['scope', 'boundary'],
    });
  const to = 'aligned compute resources';
  const bySource = (name: string, help: string): ResourceMetrics['allocations'] =>
    podLevel
      ? metrics.counter({ name: `resource_manager_${name}`, help, labels: ['resource_name', 'source'] })
      : undefined;
  return {
    cpuRequests: counter(
      'cpu_manager_pinning_requests_total',
      'The number of cpu core allocations which required pinning.',
    ),
    cpuErrors: counter(
      'cpu_manager_pinning_errors_total',
      'The number of cpu core allocations which required pinning failed.',
    ),
    sharedMilliCpus: gauge(
      'cpu_manager_shared_pool_size_millicores',
      'The size of the shared CPU pool for non-guaranteed QoS pods, in millicores.',
    ),
    exclusiveCpus: gauge(
      'cpu_manager_exclusive_cpu_allocation_count',
      'The total number of CPUs exclusively allocated to containers running on this node',
    ),
    cpusPerNuma: metrics.gauge({
      name: 'kubelet_cpu_manager_allocation_per_numa',
      help: 'Number of CPUs allocated per NUMA node',
      labels: ['numa_node'],
    }),
    memoryRequests: counter(
      'memory_manager_pinning_requests_total',
      'The number of memory pages allocations which required pinning.',
    ),
    memoryErrors: counter(
      'memory_manager_pinning_errors_total',
      'The number of memory pages allocations which required pinning that failed.',
    ),
    admissionRequests: counter(
      'topology_manager_admission_requests_total',
      'The number of admission requests where resources have to be aligned.',
    ),
    admissionErrors: counter(
      'topology_manager_admission_errors_total',
      'The number of admission request failures where resources could not be aligned.',
    ),
    admissionMs: metrics.histogram({
      name: 'kubelet_topology_manager_admission_duration_ms',
      help: 'Duration in milliseconds to serve a pod admission request.',
      buckets: Array.from({ length: 15 }, (_, index) => 0.05 * 2 ** index),
    }),
    allocations: bySource(
      'allocations_total',
      'Number of exclusive resource allocations performed by a resource manager.',
    ),
    allocationErrors: bySource(
      'allocation_errors_total',
      'Number of errors encountered during exclusive resource allocation.',
    ),
    assignments: podLevel
      ? metrics.counter({
          name: 'resource_manager_container_assignments',
          help: 'Number of containers with a specific type of resource assignment.',
          labels: ['resource_name', 'assignment_type'],
        })
      : undefined,
    aligned: aligned('count', `Cumulative number of ${to} allocated to containers by alignment type.`),
    alignedFailures: aligned(
      'failure_count',
      `Cumulative number of failures to allocate ${to} to containers by alignment type.`,
    ),
  };
}

/** Creates, with the value 0, the series that upstream exposes from the start. */
export function beginSeries(
  { aligned, alignedFailures }: ResourceMetrics,
  { cpus, topology }: { readonly cpus: boolean; readonly topology: boolean },
): void {
  if (cpus) {
    aligned.inc({ scope: 'container', boundary: 'physical_cpu' }, 0);
    aligned.inc({ scope: 'container', boundary: 'uncore_cache' }, 0);
    alignedFailures.inc({ scope: 'container', boundary: 'physical_cpu' }, 0);
  }
  if (!topology) return;
  for (const scope of ['container', 'pod']) {
    aligned.inc({ scope, boundary: 'numa_node' }, 0);
    alignedFailures.inc({ scope, boundary: 'numa_node' }, 0);
  }
}

/**
 * Sets the metrics for the numbers of shared and exclusive CPUs. The numbers are computed from the state, because
 * upstream's incremental counting counts reused CPUs twice.
 */
export function showCpus(metrics: ResourceMetrics, cpus: StaticCpus, state: CpuState): void {
  const exclusive = exclusiveCpus(state);
  metrics.sharedMilliCpus.set({}, cpus.available(state).size * 1000);
  metrics.exclusiveCpus.set({}, exclusive.size);
  for (const node of cpus.topology.numaNodes) {
    const count = cpus.topology.cpusIn('numaNode', [node]).intersection(exclusive).size;
    metrics.cpusPerNuma.set({ numa_node: `${node}` }, count);
  }
}
