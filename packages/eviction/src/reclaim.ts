import { type Clock, withTimeout } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';
import type { Reclaim } from './disk-layout.ts';
import type { EvictionDiskUsage, EvictionReclaim } from './ports.ts';

/**
 * Removes unused resources, one kind after another. A failure is logged, and the next kind is removed.
 * @returns whether disk space may become free later, because containers were removed
 * @throws the signal's reason
 */
export async function reclaim(
  reclaims: readonly Reclaim[],
  components: {
    readonly reclaim: EvictionReclaim;
    readonly clock: Pick<Clock, 'setTimer'>;
    readonly logger: Logger;
    /** Timeout of each kind of removal. */
    readonly timeoutMs: number;
  },
  signal: AbortSignal,
): Promise<boolean> {
  const { reclaim: from, clock, logger, timeoutMs } = components;
  let mayFree = false;
  const removals: Readonly<Record<Reclaim, (limit: AbortSignal) => Promise<unknown>>> = {
    containers: async (limit) => {
      mayFree = (await from.deleteUnusedContainers(limit)) > 0;
    },
    images: (limit) => from.deleteUnusedImages(limit),
  };
  for (const what of reclaims) {
    try {
      await withTimeout(clock, timeoutMs, removals[what], signal);
    } catch (err) {
      signal.throwIfAborted();
      // The failed removal may have removed some containers.
      mayFree ||= what === 'containers';
      logger.warn({ err, what }, 'Eviction manager: unexpected error when attempting to reduce resource pressure');
    }
  }
  return mayFree;
}

/**
 * Measures the disk usage of pods. The last measurement is up to a minute old, and a pod may have filled a disk since
 * (N2). @throws the signal's reason
 */
export async function measureDiskUsage(
  components: {
    readonly diskUsage?: EvictionDiskUsage;
    readonly clock: Pick<Clock, 'setTimer'>;
    readonly logger: Logger;
    /** Timeout of the measurement. */
    readonly timeoutMs: number;
  },
  signal: AbortSignal,
): Promise<void> {
  const { diskUsage, clock, logger, timeoutMs } = components;
  if (diskUsage === undefined) return;
  try {
    await withTimeout(clock, timeoutMs, (limit) => diskUsage.measure(limit), signal);
  } catch (err) {
    signal.throwIfAborted();
    logger.warn({ err }, 'Eviction manager: failed to measure disk usage of pods, using the last measurement');
  }
}
