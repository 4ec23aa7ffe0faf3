import type { Clock } from '@node-agent/async';
import type { Metrics } from '@node-agent/telemetry';
import type { MemoryProtection } from './memory-qos.ts';

/** Operations on cgroups. */
export type CgroupOperation = 'create' | 'update' | 'destroy';

/** Returns a function that runs work and records its duration in `kubelet_cgroup_manager_duration_seconds`. */
export function cgroupTimer(
  metrics: Metrics,
  clock: Pick<Clock, 'monotonic'>,
): <T>(operation: CgroupOperation, work: () => Promise<T>) => Promise<T> {
  const durations = metrics.histogram({
    name: 'kubelet_cgroup_manager_duration_seconds',
    help: 'Duration in seconds for cgroup manager operations. Broken down by method.',
    labels: ['operation_type'],
  });
  return async (operation, work) => {
    const beganMs = clock.monotonic();
    try {
      return await work();
    } finally {
      durations.observe({ operation_type: operation }, (clock.monotonic() - beganMs) / 1000);
    }
  };
}

/**
 * Creates `kubelet_memory_qos_node_memory_min_bytes` and `..._low_bytes`, which exist only with the feature gate
 * `MemoryQoS`.
 */
export function memoryProtectionGauges(metrics: Metrics): (protection: MemoryProtection) => void {
  const min = metrics.gauge({
    name: 'kubelet_memory_qos_node_memory_min_bytes',
    help: 'Total cgroup v2 memory.min in bytes for Guaranteed pods. This memory is hard-reserved and never reclaimed by the kernel.',
  });
  const low = metrics.gauge({
    name: 'kubelet_memory_qos_node_memory_low_bytes',
    help: 'Total cgroup v2 memory.low in bytes for Burstable pods. This memory is soft-reserved and may be reclaimed under extreme pressure.',
  });
  return ({ guaranteedBytes, burstableBytes }) => {
    min.set({}, Number(guaranteedBytes));
    low.set({}, Number(burstableBytes));
  };
}
