import type { ContainerType } from '@node-agent/pod-spec';
import type { Counter, Histogram, Metrics } from '@node-agent/telemetry';

/** Metrics of this package, under upstream's names (`pkg/kubelet/metrics/metrics.go`). */
export interface RuntimeMetrics {
  readonly startedPods: Counter;
  readonly startedPodErrors: Counter;
  readonly startedUserNamespacedPods: Counter;
  readonly startedUserNamespacedPodErrors: Counter;
  readonly startedContainers: Counter<'container_type'>;
  readonly startedContainerErrors: Counter<'container_type' | 'code'>;
  readonly imageVolumesRequested: Counter;
  readonly imageVolumesMounted: Counter;
  readonly imageVolumeErrors: Counter;
  readonly resizeMs: Histogram<'success'>;
}

/** Value of the label `container_type` by type of container. */
export const containerTypeLabel: Readonly<Record<ContainerType, string>> = {
  main: 'container',
  init: 'init_container',
  sidecar: 'init_container',
  ephemeral: 'ephemeral_container',
};

export function makeRuntimeMetrics(metrics: Metrics): RuntimeMetrics {
  return {
    startedPods: metrics.counter({ name: 'kubelet_started_pods_total', help: 'Cumulative number of pods started' }),
    startedPodErrors: metrics.counter({
      name: 'kubelet_started_pods_errors_total',
      help: 'Cumulative number of errors when starting pods',
    }),
    startedUserNamespacedPods: metrics.counter({
      name: 'kubelet_started_user_namespaced_pods_total',
      help: 'Cumulative number of pods with user namespaces started.',
    }),
    startedUserNamespacedPodErrors: metrics.counter({
      name: 'kubelet_started_user_namespaced_pods_errors_total',
      help: 'Cumulative number of errors when starting pods with user namespaces.',
    }),
    startedContainers: metrics.counter({
      name: 'kubelet_started_containers_total',
      help: 'Cumulative number of containers started',
      labels: ['container_type'],
    }),
    startedContainerErrors: metrics.counter({
      name: 'kubelet_started_containers_errors_total',
      help: 'Cumulative number of errors when starting containers',
      labels: ['container_type', 'code'],
    }),
    imageVolumesRequested: metrics.counter({
      name: 'kubelet_image_volume_requested_total',
      help: 'Number of requested image volumes.',
    }),
    imageVolumesMounted: metrics.counter({
      name: 'kubelet_image_volume_mounted_succeed_total',
      help: 'Number of successful image volume mounts.',
    }),
    imageVolumeErrors: metrics.counter({
      name: 'kubelet_image_volume_mounted_errors_total',
      help: 'Number of failed image volume mounts.',
    }),
    resizeMs: metrics.histogram({
      name: 'kubelet_pod_resize_duration_milliseconds',
      help: 'Duration of in-place pod resizes in milliseconds',
      labels: ['success'],
      buckets: [10, 50, 100, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000],
    }),
  };
}
