import type { CsiVolumeStats } from '@node-agent/contracts';
import type { TreeUsage } from '@node-agent/host';

/**
 * Returns the usage of a volume as its driver reports it (`GetMetrics` of `pkg/volume/csi/csi_metrics.go`). Numbers that
 * the driver does not report are 0. Returns `undefined` without any numbers.
 */
export function usageOf({ usage }: CsiVolumeStats): TreeUsage | undefined {
  const find = (unit: 'bytes' | 'inodes') => usage.findLast((one) => one.unit === unit);
  const [bytes, inodes] = [find('bytes'), find('inodes')];
  if (bytes === undefined && inodes === undefined) return undefined;
  const available = count(bytes?.available);
  return {
    ...{ bytes: count(bytes?.used), inodes: count(inodes?.used), complete: true },
    fileSystem: {
      ...{ totalBytes: count(bytes?.total), freeBytes: available, availableBytes: available },
      ...{ inodes: count(inodes?.total), freeInodes: count(inodes?.available) },
    },
  };
}

/** A driver may report any number; a negative one means nothing. */
function count(value: bigint | undefined): number {
  return value === undefined || value < 0n ? 0 : Number(value);
}
