import type { Clock } from '@node-agent/async';
import type { Metrics } from '@node-agent/telemetry';

/** What is done to groups. */
export type CgroupOperation = 'create' | 'update' | 'destroy';

/** Measures `kubelet_cgroup_manager_duration_seconds`. */
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
