import { type Pod, parseQuantity, podLimits, Quantity } from '@node-agent/pod-spec';
import { bytes } from './pod-usage.ts';
import { type EvictionPodStats, isCount } from './summary.ts';

/** A local storage limit that a pod exceeds. */
export interface StorageViolation {
  /** Value of the metric label `eviction_signal`. */
  readonly signal: 'emptydirfs.limit' | 'ephemeralpodfs.limit' | 'ephemeralcontainerfs.limit';
  readonly message: string;
}

/**
 * Returns the first local storage limit that a pod exceeds: an emptyDir's size limit, then the pod's total limit, then
 * a container's limit (`localStorageEviction` of `pkg/kubelet/eviction/eviction_manager.go`). Returns `undefined` if
 * the pod exceeds no limit.
 */
export function storageViolation(pod: Pod, stats: EvictionPodStats): StorageViolation | undefined {
  return overEmptyDir(pod, stats) ?? overPod(pod, stats) ?? overContainer(pod, stats);
}

/** Returns whether the pod has any limit that {@link storageViolation} checks. */
export function hasStorageLimit(pod: Pod): boolean {
  const { volumes = [] } = pod.spec;
  return volumes.some(({ emptyDir }) => emptyDir?.sizeLimit !== undefined) || podLimits(pod).has('ephemeral-storage');
}

function overEmptyDir({ spec }: Pod, { volume: volumes = [] }: EvictionPodStats): StorageViolation | undefined {
  let usedBytes: ReadonlyMap<string | undefined, number | undefined> | undefined;
  for (const { name, emptyDir } of spec.volumes ?? []) {
    const text = emptyDir?.sizeLimit;
    if (text === undefined) continue;
    usedBytes ??= new Map(volumes.map((volume) => [volume.name, volume.usedBytes]));
    const used = usedBytes.get(name);
    const limit = parseQuantity(text);
    if (!isCount(used) || limit.compare(Quantity.zero) <= 0 || bytes(used).compare(limit) <= 0) continue;
    return {
      signal: 'emptydirfs.limit',
      message: `Usage of EmptyDir volume ${JSON.stringify(name)} exceeds the limit "${limit}". `,
    };
  }
  return undefined;
}

function overPod(pod: Pod, stats: EvictionPodStats): StorageViolation | undefined {
  const limit = podLimits(pod).get('ephemeral-storage');
  if (limit === undefined || bytes(stats['ephemeral-storage']?.usedBytes).compare(limit) <= 0) return undefined;
  return {
    signal: 'ephemeralpodfs.limit',
    message: `Pod ephemeral local storage usage exceeds the total limit of containers ${limit}. `,
  };
}

/**
 * Returns the violation of a container's limit. The limit applies to the container's writable layer and logs, on
 * whichever disks they are. The pod's limit counts them in the same way. Upstream does not count the writable layer if
 * images have a dedicated disk (kubernetes#139205).
 */
function overContainer(pod: Pod, stats: EvictionPodStats): StorageViolation | undefined {
  const limits = new Map(
    pod.spec.containers.map(({ name, resources }) => [name, resources?.limits?.['ephemeral-storage']]),
  );
  for (const { name, logs, rootfs } of stats.containers ?? []) {
    const text = limits.get(name);
    if (text === undefined) continue;
    const limit = parseQuantity(text);
    const used = bytes(logs?.usedBytes).add(bytes(rootfs?.usedBytes));
    if (limit.isZero || used.compare(limit) <= 0) continue;
    return {
      signal: 'ephemeralcontainerfs.limit',
      message: `Container ${name} exceeded its local ephemeral storage limit "${limit}". `,
    };
  }
  return undefined;
}
