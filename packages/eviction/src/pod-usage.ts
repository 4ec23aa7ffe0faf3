import { type Pod, parseQuantity, podRequests, Quantity } from '@node-agent/pod-spec';
import type { DiskPart } from './disk-layout.ts';
import type { StarvedResource } from './signals.ts';
import { type EvictionPodStats, type EvictionSummary, type FsStats, isCount } from './summary.ts';

/** Looks up the stats of a pod; `undefined` if there are none. */
export type StatsOf = (pod: Pod) => EvictionPodStats | undefined;

/** Returns a lookup of a summary's pod stats by UID. */
export function statsByUid({ pods }: Pick<EvictionSummary, 'pods'>): StatsOf {
  const byUid = new Map(pods.map((stats) => [stats.podRef.uid, stats]));
  return ({ metadata }) => byUid.get(metadata.uid);
}

export function memoryUsage({ memory }: Pick<EvictionPodStats, 'memory'>): Quantity {
  return bytes(memory?.workingSetBytes);
}

export function bytes(count: number | undefined): Quantity {
  return Quantity.of(isCount(count) ? count : 0, 'BinarySI');
}

/** Returns how many bytes or inodes of a disk a pod uses. */
export function diskUsage(
  pod: Pod,
  stats: EvictionPodStats,
  parts: readonly DiskPart[],
  resource: 'ephemeral-storage' | 'inodes',
): Quantity {
  const local = new Set<string | undefined>(localVolumes(pod));
  const counted: (FsStats | undefined)[] = [];
  for (const { rootfs, logs } of stats.containers ?? []) {
    if (parts.includes('rootfs')) counted.push(rootfs);
    if (parts.includes('logs')) counted.push(logs);
  }
  if (parts.includes('volumes')) counted.push(...(stats.volume ?? []).filter(({ name }) => local.has(name)));
  const sum = counted.reduce((total, one) => {
    const count = resource === 'inodes' ? one?.inodesUsed : one?.usedBytes;
    return isCount(count) ? total + BigInt(count) : total;
  }, 0n);
  return Quantity.of(sum, resource === 'inodes' ? 'DecimalSI' : 'BinarySI');
}

/** Returns the volumes whose data is, or may be, on the node's own disk (upstream: `localVolumeNames`). */
function localVolumes({ spec }: Pod): readonly string[] {
  return (spec.volumes ?? []).flatMap((volume) => {
    const emptyDir = volume.emptyDir != null && (volume.emptyDir.medium ?? '') === '';
    const local = emptyDir || volume.hostPath != null || volume.configMap != null || volume.gitRepo != null;
    return local ? [volume.name] : [];
  });
}

/**
 * Returns a pod's request for a resource; the overhead is included only if the pod requests the resource (upstream:
 * `GetResourceRequestQuantity`).
 */
export function requestOf(pod: Pod, resource: StarvedResource): Quantity {
  const own = podRequests(pod, { excludeOverhead: true }).get(resource);
  if (own === undefined || own.isZero) return Quantity.zero;
  return own.add(parseQuantity(pod.spec.overhead?.[resource] ?? '0'));
}
