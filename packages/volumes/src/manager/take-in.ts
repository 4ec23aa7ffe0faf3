import type { FileSystem } from '@node-agent/host';
import type { LastingProblem, LogFields } from '@node-agent/telemetry';
import type { PodPaths } from '../paths/pod-paths.ts';
import { podsOnDisk, type VolumeOnDisk, volumesOnDisk } from '../paths/volumes-on-disk.ts';
import type { VolumeMetrics } from './volume-metrics.ts';

/** Dependencies of {@link takeInFromDisk}. */
export interface TakeInComponents {
  readonly fs: Pick<FileSystem, 'readdir'>;
  readonly paths: PodPaths;
  /** Logs why volumes could not be registered. */
  readonly problem: Pick<LastingProblem, 'failed' | 'over'>;
  readonly metrics: Pick<VolumeMetrics, 'reconstructed'>;
  readonly takeIn: (podUid: string, volume: VolumeOnDisk) => Promise<void>;
  /** Returns whether a former process had begun to remove the volume. No controller attaches such a volume. */
  readonly isRemoving: (volume: VolumeOnDisk) => boolean;
  /**
   * Returns whether the volume was not counted by an earlier attempt and is not a volume of this process. Records that
   * it is counted now.
   */
  readonly mustCount: (podUid: string, volume: VolumeOnDisk) => boolean;
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
 * @returns whether all volumes are registered; volumes whose interrupted removal failed do not count
 */
export async function takeInFromDisk(
  { fs, paths, problem, metrics, takeIn, isRemoving, mustCount, takenIn, takeInStaged }: TakeInComponents,
  signal: AbortSignal,
): Promise<boolean> {
  const attempt = async (fields: LogFields, work: () => Promise<void>): Promise<boolean> => {
    try {
      await work();
      problem.over(fields);
      return true;
    } catch (err) {
      if (!signal.aborted) problem.failed(err, fields);
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
          const isCounted = mustCount(podUid, volume);
          const isTakenIn = await attempt(fields, () => takeIn(podUid, volume));
          if (isCounted) metrics.reconstructed(isTakenIn);
          isWholePod &&= isTakenIn || isRemoving(volume);
        }
      });
      if (isRead && isWholePod) takenIn.add(podUid);
      else isWhole = false;
    };
    const pods = new Set(await podsOnDisk(fs, paths));
    for (const podUid of takenIn) if (!pods.has(podUid)) takenIn.delete(podUid);
    await Promise.all([...pods].filter((podUid) => !takenIn.has(podUid)).map(takeInPod));
  });
  if (!allPods || !isWhole || signal.aborted) return false;
  return await takeInStaged();
}
