import type { FileSystem } from '@node-agent/host';
import type { LogFields, Logger } from '@node-agent/telemetry';
import type { PodPaths } from '../paths/pod-paths.ts';
import { podsOnDisk, type VolumeOnDisk, volumesOnDisk } from '../paths/volumes-on-disk.ts';
import type { VolumeMetrics } from './volume-metrics.ts';

/** What {@link takeInFromDisk} works with. */
export interface TakeInComponents {
  readonly fs: Pick<FileSystem, 'readdir'>;
  readonly paths: PodPaths;
  readonly logger: Logger;
  readonly metrics: Pick<VolumeMetrics, 'reconstructed'>;
  readonly takeIn: (podUid: string, volume: VolumeOnDisk) => Promise<void>;
  /** What is staged for the node: after all pods, unless one of them could not be looked at, for it may have it. */
  readonly takeInStaged: () => Promise<void>;
}

/**
 * Goes through all volumes that a former process left, pods side by side: a removal that takes its time holds up no other's (W6). What
 * cannot be looked at or removed now is taken away with the rest of its pod: no reason not to start.
 */
export async function takeInFromDisk(
  { fs, paths, logger, metrics, takeIn, takeInStaged }: TakeInComponents,
  signal: AbortSignal,
): Promise<void> {
  const attempt = async (fields: LogFields, work: () => Promise<void>): Promise<boolean> => {
    try {
      await work();
      return true;
    } catch (err) {
      if (!signal.aborted) logger.warn({ err, ...fields }, 'What a former process left on disk cannot be taken in');
      return false;
    }
  };
  let isWhole = true;
  const allPods = await attempt({}, async () => {
    const takeInPod = async (podUid: string): Promise<void> => {
      const wholePod = await attempt({ podUid }, async () => {
        for (const volume of await volumesOnDisk(fs, paths, podUid)) {
          if (signal.aborted) return;
          const fields = { podUid, volume: volume.name };
          const isTakenIn = await attempt(fields, () => takeIn(podUid, volume));
          metrics.reconstructed(isTakenIn);
          isWhole &&= isTakenIn;
        }
      });
      isWhole &&= wholePod;
    };
    await Promise.all((await podsOnDisk(fs, paths)).map(takeInPod));
  });
  if (allPods && isWhole && !signal.aborted) await attempt({}, takeInStaged);
}
