import { CONFIG_SEEN_ANNOTATION, type Pod, type PodStatus } from '@node-agent/pod-spec';
import type { Histogram, Metrics } from '@node-agent/telemetry';

/** Upstream's buckets (`podStartupDurationBuckets` in `pkg/kubelet/metrics/metrics.go`), in seconds. */
export const STARTUP_BUCKETS: readonly number[] = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
];

/** Measures the time from the kubelet first seeing a pod until the pod runs. */
export class StartMetrics {
  readonly #duration: Histogram;

  constructor(metrics: Metrics) {
    this.#duration = metrics.histogram({
      name: 'kubelet_pod_start_duration_seconds',
      help: 'Seconds from the kubelet first seeing a pod until it runs.',
      buckets: STARTUP_BUCKETS,
    });
  }

  /**
   * Records a change of a pod's status; only the change from Pending to Running counts. Upstream also counts a pod's
   * first status, whatever its phase; here the first status is not a start.
   * @param nowMs the wall clock, like the annotation with the time at which the kubelet first saw the pod
   */
  observe(pod: Pod, before: PodStatus | undefined, after: PodStatus, nowMs: number): void {
    if (before?.phase !== 'Pending' || after.phase !== 'Running') return;
    const seenAtMs = Date.parse(pod.metadata.annotations?.[CONFIG_SEEN_ANNOTATION] ?? '');
    if (!Number.isNaN(seenAtMs)) this.#duration.observe({}, Math.max(0, nowMs - seenAtMs) / 1000);
  }
}
