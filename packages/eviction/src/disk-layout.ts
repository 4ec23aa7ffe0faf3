import type { Signal } from './signals.ts';
import { isHard, type Threshold } from './threshold.ts';

/** Placement of images and writable layers on the node's disks. */
export interface DiskLayout {
  /** Whether images are on another disk than the kubelet's root directory. */
  readonly dedicatedImageFs: boolean;
  /** Whether writable layers of containers are on another disk than images (KEP-4191). */
  readonly splitContainerFs: boolean;
}

/**
 * Returns the thresholds, with the `containerfs` thresholds replaced. Writable layers share a disk either with images
 * or with the kubelet's root directory, so `containerfs` takes the thresholds of that disk, whatever was configured for
 * it (upstream: `UpdateContainerFsThresholds`).
 * @returns `overridden`: the `containerfs` signals whose configured thresholds are ignored
 */
export function withContainerFs(
  thresholds: readonly Threshold[],
  { dedicatedImageFs, splitContainerFs }: DiskLayout,
): { readonly thresholds: readonly Threshold[]; readonly overridden: readonly Signal[] } {
  const isContainerFs = ({ signal }: Threshold): boolean => signal.startsWith('containerfs.');
  const kept = thresholds.filter((threshold) => !isContainerFs(threshold));
  const disk = dedicatedImageFs && !splitContainerFs ? 'imagefs' : 'nodefs';
  const copies = kept.flatMap((threshold): readonly Threshold[] => {
    if (threshold.signal === `${disk}.available`) return [{ ...threshold, signal: 'containerfs.available' }];
    if (threshold.signal === `${disk}.inodesFree`) return [{ ...threshold, signal: 'containerfs.inodesFree' }];
    return [];
  });
  const overridden = [...new Set(thresholds.filter(isContainerFs).map(({ signal }) => signal))];
  return {
    thresholds: [...kept, ...copies].sort((one, other) => Number(isHard(other)) - Number(isHard(one))),
    overridden,
  };
}

/** Kinds of pod data on a disk. */
export type DiskPart = 'images' | 'rootfs' | 'logs' | 'volumes';

/**
 * Returns the kinds of data that count as a pod's usage of a signal's disk (upstream: `buildSignalToRankFunc`). Image
 * layers are not attributed to any pod.
 */
export function diskPartsOf(signal: Signal, { dedicatedImageFs, splitContainerFs }: DiskLayout): readonly DiskPart[] {
  const isImageFs = signal.startsWith('imagefs.');
  if (!dedicatedImageFs) return ['images', 'rootfs', 'logs', 'volumes'];
  if (splitContainerFs) return isImageFs ? ['images'] : ['logs', 'volumes', 'rootfs'];
  return signal.startsWith('nodefs.') ? ['logs', 'volumes'] : ['rootfs', 'images'];
}

/** Kinds of resources that can be removed before a pod is evicted. */
export type Reclaim = 'containers' | 'images';

/**
 * Returns the kinds of data to remove for a signal, in order (upstream: `buildSignalToNodeReclaimFuncs`). For memory
 * and PID signals, there is nothing to remove.
 */
export function reclaimsOf(signal: Signal, { dedicatedImageFs, splitContainerFs }: DiskLayout): readonly Reclaim[] {
  if (!/^(nodefs|imagefs|containerfs)\./.test(signal)) return [];
  if (!dedicatedImageFs) return ['containers', 'images'];
  if (splitContainerFs) return signal.startsWith('imagefs.') ? ['images'] : ['containers'];
  return signal.startsWith('nodefs.') ? [] : ['containers', 'images'];
}
