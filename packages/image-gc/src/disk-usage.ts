import type { ImageGcPolicy } from './policy.ts';

/** A file system, as `statfs` shows it. */
export interface DiskSize {
  readonly totalBytes: number;
  /** What is free for a user without privileges. */
  readonly availableBytes: number;
}

/** How full a disk of images is, and what that asks for. */
export interface DiskUsage {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  /** Rounded up: 100 stands for "full, or all but". */
  readonly usagePercent: number;
  /** How much must go for the usage to be at the low threshold; 0 where it is below the high one. */
  readonly bytesToFree: number;
}

/** What a disk asks for; a disk that says to have more available than it has is empty. */
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
  // A hundred times a large disk is more than a number holds exactly.
  const usagePercent = 100 - Number((whole(availableBytes) * 100n) / whole(capacityBytes));
  const wanted = Number((whole(capacityBytes) * BigInt(100 - low)) / 100n);
  const bytesToFree = usagePercent >= high ? Math.max(0, wanted - availableBytes) : 0;
  return { capacityBytes, availableBytes, usagePercent, bytesToFree };
}

/** The disk from which the most must go: where a runtime has several, it does not say which of them an image is on. */
export function neediest(disks: readonly DiskUsage[]): DiskUsage | undefined {
  return disks.reduce<DiskUsage | undefined>(
    (worst, disk) => (worst === undefined || disk.bytesToFree > worst.bytesToFree ? disk : worst),
    undefined,
  );
}

function whole(bytes: number): bigint {
  return BigInt(Math.max(0, Math.trunc(bytes)));
}
