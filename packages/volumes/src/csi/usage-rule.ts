import type { CsiVolumeStats } from '@node-agent/contracts';
import type { VolumeMeasurement } from '../manager/plugin.ts';

/**
 * Returns the usage of a volume as its driver reports it. Numbers that the driver does not report are 0, as upstream
 * shows them (`NodeGetVolumeStats` of `pkg/volume/csi/csi_client.go`).
 * @param showsHealth whether the result includes the volume's health
 * @returns `undefined` if the driver reports neither usage nor a requested health
 */
export function usageOf({ usage, condition }: CsiVolumeStats, showsHealth: boolean): VolumeMeasurement | undefined {
  const find = (unit: 'bytes' | 'inodes') => usage.findLast((one) => one.unit === unit);
  const [bytes, inodes] = [find('bytes'), find('inodes')];
  const health = showsHealth ? condition : undefined;
  if (bytes === undefined && inodes === undefined && health === undefined) return undefined;
  const available = count(bytes?.available);
  return {
    ...{ bytes: count(bytes?.used), inodes: count(inodes?.used), complete: true },
    fileSystem: {
      ...{ totalBytes: count(bytes?.total), freeBytes: available, availableBytes: available },
      ...{ inodes: count(inodes?.total), freeInodes: count(inodes?.available) },
    },
    ...(health && { condition: health }),
  };
}

/** Converts a number that a driver reports; a missing or negative number becomes 0. */
function count(value: bigint | undefined): number {
  return value === undefined || value < 0n ? 0 : Number(value);
}
