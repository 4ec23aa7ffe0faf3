import { type Clock, withTimeout } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';
import type { Reclaim } from './disk-layout.ts';
import type { EvictionReclaim } from './ports.ts';

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
