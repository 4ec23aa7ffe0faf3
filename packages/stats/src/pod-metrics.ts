import type { MetricFamily, Sample } from './exposition.ts';
import type { PodStats, VolumeStats } from './summary.ts';

type Figure = Exclude<keyof VolumeStats, 'name' | 'time' | 'pvcRef' | 'volumeHealthStats' | 'isLowerBound'>;

const VOLUMES: readonly (readonly [name: string, figure: Figure, help: string])[] = [
  ['capacity_bytes', 'capacityBytes', 'Capacity in bytes of the volume'],
  ['available_bytes', 'availableBytes', 'Number of available bytes in the volume'],
  ['used_bytes', 'usedBytes', 'Number of used bytes in the volume'],
  ['inodes', 'inodes', 'Maximum number of inodes in the volume'],
  ['inodes_free', 'inodesFree', 'Number of free inodes in the volume'],
  ['inodes_used', 'inodesUsed', 'Number of used inodes in the volume'],
];

/**
 * Returns the pod families of `/metrics`: volumes of PVCs (`collectors/volume_stats.go`), each PVC once, and logs of
 * containers (`collectors/log_metrics.go`).
 */
export function podMetrics(pods: readonly PodStats[]): readonly MetricFamily[] {
  const claims = new Map<string, { readonly labels: Sample['labels']; readonly volume: VolumeStats }>();
  for (const volume of pods.flatMap((pod) => pod.volume ?? [])) {
    if (volume.pvcRef === undefined) continue;
    const { namespace, name } = volume.pvcRef;
    const key = `${namespace}/${name}`;
    if (!claims.has(key)) claims.set(key, { labels: { namespace, persistentvolumeclaim: name }, volume });
  }
  const ofClaims = [...claims.values()];
  return [
    {
      name: 'kubelet_container_log_filesystem_used_bytes',
      type: 'gauge',
      help: "[ALPHA] Bytes used by the container's logs on the filesystem.",
      samples: pods.flatMap(({ podRef: { uid, namespace, name: pod }, containers }) =>
        containers.flatMap(({ name: container, logs }) =>
          logs?.usedBytes === undefined ? [] : [{ labels: { uid, namespace, pod, container }, value: logs.usedBytes }],
        ),
      ),
    },
    ...VOLUMES.map(([name, figure, help]) => ({
      name: `kubelet_volume_stats_${name}`,
      type: 'gauge' as const,
      help: `[ALPHA] ${help}`,
      samples: ofClaims
        .filter(({ volume }) => !(volume.isLowerBound && (figure === 'usedBytes' || figure === 'inodesUsed')))
        .map(({ labels, volume }) => ({ labels, value: volume[figure] ?? 0 })),
    })),
    {
      name: 'kubelet_volume_stats_health_status_abnormal',
      type: 'gauge',
      help: '[ALPHA] Abnormal volume health status. The count is either 1 or 0. 1 indicates the volume is unhealthy, 0 indicates volume is healthy',
      samples: ofClaims.flatMap(({ labels, volume: { volumeHealthStats: health } }) =>
        health === undefined ? [] : [{ labels, value: health.abnormal ? 1 : 0 }],
      ),
    },
  ];
}
