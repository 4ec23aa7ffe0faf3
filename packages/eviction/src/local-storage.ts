import { type Pod, parseQuantity, podLimits, Quantity } from '@node-agent/pod-spec';
import { bytes } from './pod-usage.ts';
import { type EvictionPodStats, isCount } from './summary.ts';

/** A limit of local storage that a pod is over. */
export interface StorageViolation {
  /** As the label `eviction_signal` has it. */
  readonly signal: 'emptydirfs.limit' | 'ephemeralpodfs.limit' | 'ephemeralcontainerfs.limit';
  readonly message: string;
}

/**
 * The limit of local storage that a pod is over: the size of an emptyDir, then what its containers may have together, then what one of
 * them may (`localStorageEviction` of `pkg/kubelet/eviction/eviction_manager.go`). `undefined` where it is over none.
 */
export function storageViolation(pod: Pod, stats: EvictionPodStats): StorageViolation | undefined {
  return overEmptyDir(pod, stats) ?? overPod(pod, stats) ?? overContainer(pod, stats);
}

/** Whether {@link storageViolation} could ever say something of a pod. */
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
 * A container's limit is for its writable layer and its logs, whatever disks they are on, as the limit of the pod is. Upstream leaves out the
 * writable layer if images have a disk of their own (kubernetes#139205).
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
