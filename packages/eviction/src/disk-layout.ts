import type { Signal } from './signals.ts';
import { isHard, type Threshold } from './threshold.ts';

/** On which disks the node has what. */
export interface DiskLayout {
  /** Images are on another disk than the kubelet's own directory. */
  readonly dedicatedImageFs: boolean;
  /** Writable layers of containers are on another disk than images (KEP-4191). */
  readonly splitContainerFs: boolean;
}

/**
 * The thresholds, with those of `containerfs` as the disks are: writable layers are where images are, or where the kubelet is, so
 * they have the thresholds of that disk, whatever was configured (`UpdateContainerFsThresholds`).
 * @returns `overridden`: the signals that were configured, and are not obeyed
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

/** What of a pod is on a disk. */
export type DiskPart = 'images' | 'rootfs' | 'logs' | 'volumes';

/** What counts as a pod's use of the disk of a signal (`buildSignalToRankFunc`). Layers of images are nobody's. */
export function diskPartsOf(signal: Signal, { dedicatedImageFs, splitContainerFs }: DiskLayout): readonly DiskPart[] {
  const isImageFs = signal.startsWith('imagefs.');
  if (!dedicatedImageFs) return ['images', 'rootfs', 'logs', 'volumes'];
  if (splitContainerFs) return isImageFs ? ['images'] : ['logs', 'volumes', 'rootfs'];
  return signal.startsWith('nodefs.') ? ['logs', 'volumes'] : ['rootfs', 'images'];
}

/** What can be removed for a signal before a pod has to go. */
export type Reclaim = 'containers' | 'images';

/** In which order what is removed (`buildSignalToNodeReclaimFuncs`); nothing helps against a lack of memory or process ids. */
export function reclaimsOf(signal: Signal, { dedicatedImageFs, splitContainerFs }: DiskLayout): readonly Reclaim[] {
  if (!/^(nodefs|imagefs|containerfs)\./.test(signal)) return [];
  if (!dedicatedImageFs) return ['containers', 'images'];
  if (splitContainerFs) return signal.startsWith('imagefs.') ? ['images'] : ['containers'];
  return signal.startsWith('nodefs.') ? [] : ['containers', 'images'];
}
