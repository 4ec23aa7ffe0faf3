import { type Clock, withTimeout } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';
import type { Reclaim } from './disk-layout.ts';
import type { EvictionReclaim, EvictionVolumes } from './ports.ts';

/** Removes what nobody needs, one kind after another; what fails is logged, and the others go on. @throws the signal's reason */
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
): Promise<void> {
  const { reclaim: from, clock, logger, timeoutMs } = components;
  const removals: Readonly<Record<Reclaim, (limit: AbortSignal) => Promise<unknown>>> = {
    containers: (limit) => from.deleteUnusedContainers(limit),
    images: (limit) => from.deleteUnusedImages(limit),
  };
  for (const what of reclaims) {
    try {
      await withTimeout(clock, timeoutMs, removals[what], signal);
    } catch (err) {
      signal.throwIfAborted();
      logger.warn({ err, what }, 'Eviction manager: unexpected error when attempting to reduce resource pressure');
    }
  }
}

/** N2: what volumes take was found out up to a minute ago, in which one may have filled the disk. @throws the signal's reason */
export async function measureVolumes(
  components: {
    readonly volumes?: EvictionVolumes;
    readonly clock: Pick<Clock, 'setTimer'>;
    readonly logger: Logger;
    /** What it may take. */
    readonly timeoutMs: number;
  },
  signal: AbortSignal,
): Promise<void> {
  const { volumes, clock, logger, timeoutMs } = components;
  if (volumes === undefined) return;
  try {
    await withTimeout(clock, timeoutMs, (limit) => volumes.measure(limit), signal);
  } catch (err) {
    signal.throwIfAborted();
    logger.warn({ err }, 'Eviction manager: volumes could not be measured, what was found last counts');
  }
}
