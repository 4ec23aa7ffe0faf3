import type { ImageGcPolicy } from './policy.ts';

/** Size of a file system, as returned by `statfs`. */
export interface DiskSize {
  readonly totalBytes: number;
  /** Bytes available to unprivileged users. */
  readonly availableBytes: number;
}

/** Usage of an image file system, and the space to free. */
export interface DiskUsage {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  /** Used share of the capacity, in percent. The share is rounded up, so that 100 means "full or almost full". */
  readonly usagePercent: number;
  /** Bytes to free in order to reach the low threshold; 0 if the usage is below the high threshold. */
  readonly bytesToFree: number;
}

/** Computes the usage of a disk. If the reported available space exceeds the capacity, the disk counts as empty. */
export function diskUsage(
  size: DiskSize,
  {
    highThresholdPercent: high,
    lowThresholdPercent: low,
  }: Pick<ImageGcPolicy, 'highThresholdPercent' | 'lowThresholdPercent'>,
): DiskUsage {
  const capacityBytes = size.totalBytes;
  const availableBytes = Math.min(size.availableBytes, capacityBytes);
  if (!(capacityBytes > 0)) return { capacityBytes: 0, availableBytes: 0, usagePercent: 0, bytesToFree: 0 };
  // BigInt is used, because a hundred times the size of a large disk exceeds the largest exact integer of a number.
  const usagePercent = 100 - Number((whole(availableBytes) * 100n) / whole(capacityBytes));
  const wanted = Number((whole(capacityBytes) * BigInt(100 - low)) / 100n);
  const bytesToFree = usagePercent >= high ? Math.max(0, wanted - availableBytes) : 0;
  return { capacityBytes, availableBytes, usagePercent, bytesToFree };
}

/**
 * Returns the disk with the most bytes to free. If a runtime has several image file systems, it does not report which
 * one holds an image.
 */
export function neediest(disks: readonly DiskUsage[]): DiskUsage | undefined {
  return disks.reduce<DiskUsage | undefined>(
    (worst, disk) => (worst === undefined || disk.bytesToFree > worst.bytesToFree ? disk : worst),
    undefined,
  );
}

function whole(bytes: number): bigint {
  return BigInt(Math.max(0, Math.trunc(bytes)));
}
