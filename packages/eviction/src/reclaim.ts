import { type Clock, withTimeout } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';
import type { Reclaim } from './disk-layout.ts';
import type { EvictionDiskUsage, EvictionReclaim } from './ports.ts';

/**
 * Removes what nobody needs, one kind after another; what fails is logged, and the others go on.
 * @returns whether there is something that may become free later: what removed containers wrote
 * @throws the signal's reason
 */
export async function reclaim(
  reclaims: readonly Reclaim[],
  components: {
    readonly reclaim: EvictionReclaim;
    readonly clock: Pick<Clock, 'setTimer'>;
    readonly logger: Logger;
    /** What one kind may take. */
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
      // It is not told what was removed until then.
      mayFree ||= what === 'containers';
      logger.warn({ err, what }, 'Eviction manager: unexpected error when attempting to reduce resource pressure');
    }
  }
  return mayFree;
}

/** N2: what pods take of a disk was found out up to a minute ago, in which one may have filled it. @throws the signal's reason */
export async function measureDiskUsage(
  components: {
    readonly diskUsage?: EvictionDiskUsage;
    readonly clock: Pick<Clock, 'setTimer'>;
    readonly logger: Logger;
    /** What it may take. */
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
    logger.warn({ err }, 'Eviction manager: what pods take of disks could not be measured, what was found last counts');
  }
}
