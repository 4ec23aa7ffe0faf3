import type { FileSystem } from '@node-agent/host';
import type { LogFields, Logger } from '@node-agent/telemetry';
import type { PodPaths } from '../paths/pod-paths.ts';
import { podsOnDisk, type VolumeOnDisk, volumesOnDisk } from '../paths/volumes-on-disk.ts';
import type { VolumeMetrics } from './volume-metrics.ts';

/** Dependencies of {@link takeInFromDisk}. */
export interface TakeInComponents {
  readonly fs: Pick<FileSystem, 'readdir'>;
  readonly paths: PodPaths;
  readonly logger: Logger;
  readonly metrics: Pick<VolumeMetrics, 'reconstructed'>;
  readonly takeIn: (podUid: string, volume: VolumeOnDisk) => Promise<void>;
  /** UIDs of the pods whose volumes are all registered. Earlier attempts have added theirs. */
  readonly takenIn: Set<string>;
  /**
   * Registers staged volumes after the volumes of all pods. Not called if a pod could not be read, because that pod may
   * use a staged volume. Returns whether all staged volumes are registered. Never rejects.
   */
  readonly takeInStaged: () => Promise<boolean>;
}

/**
 * Registers all volumes that a former process left, for all pods in parallel, so that a slow removal in one pod does
 * not delay other pods (W6). A volume that cannot be read or removed now is removed with its pod later and does not
 * prevent the start.
 * @returns whether all volumes are registered
 */
export async function takeInFromDisk(
  { fs, paths, logger, metrics, takeIn, takenIn, takeInStaged }: TakeInComponents,
  signal: AbortSignal,
): Promise<boolean> {
  const attempt = async (fields: LogFields, work: () => Promise<void>): Promise<boolean> => {
    try {
      await work();
      return true;
    } catch (err) {
      if (!signal.aborted) logger.warn({ err, ...fields }, 'Failed to register leftovers of a former process on disk');
      return false;
    }
  };
  let isWhole = true;
  const allPods = await attempt({}, async () => {
    const takeInPod = async (podUid: string): Promise<void> => {
      let isWholePod = true;
      const isRead = await attempt({ podUid }, async () => {
        for (const volume of await volumesOnDisk(fs, paths, podUid)) {
          if (signal.aborted) return;
          const fields = { podUid, volume: volume.name };
          const isTakenIn = await attempt(fields, () => takeIn(podUid, volume));
          metrics.reconstructed(isTakenIn);
          isWholePod &&= isTakenIn;
        }
      });
      if (isRead && isWholePod) takenIn.add(podUid);
      else isWhole = false;
    };
    const pods = (await podsOnDisk(fs, paths)).filter((podUid) => !takenIn.has(podUid));
    await Promise.all(pods.map(takeInPod));
  });
  if (!allPods || !isWhole || signal.aborted) return false;
  return await takeInStaged();
}
