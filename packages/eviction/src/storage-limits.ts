import type { Clock } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import type { Logger } from '@node-agent/telemetry';
import type { Decisions } from './decisions.ts';
import type { DiskLayout } from './disk-layout.ts';
import type { Evictor } from './evictor.ts';
import { IMMEDIATE_GRACE_SECONDS } from './grace-period.ts';
import { storageViolation } from './local-storage.ts';
import type { EvictionPods } from './ports.ts';
import type { Figures } from './statistics.ts';

/** What {@link keepStorageLimits} works with. */
export interface StorageLimitsParts {
  readonly pods: EvictionPods;
  readonly evictor: Evictor;
  readonly decisions: Decisions;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

/** Ends the pods that are over a limit of their own, then waits for all of them together. @returns whether there were any */
export async function keepStorageLimits(
  { pods, evictor, decisions, clock, logger }: StorageLimitsParts,
  { statsOf }: Figures,
  layout: DiskLayout,
  signal: AbortSignal,
): Promise<boolean> {
  const evicted: Pod[] = [];
  for (const pod of pods.active()) {
    const stats = statsOf(pod);
    const violation = stats && storageViolation(pod, stats, layout);
    if (violation === undefined || evictor.isEnding(pod)) continue;
    if (pods.isCritical(pod)) {
      logger.warn({ podUid: pod.metadata.uid, ...violation }, 'Eviction manager: cannot evict a critical pod');
      continue;
    }
    const { signal: cause, message } = violation;
    const told = { cause, outcome: 'evicted', reclaims: [], ranked: [], evicted: pod.metadata.uid, message } as const;
    decisions.add({ ...told, atMs: clock.now() });
    const how = { isDisruption: false, gracePeriodSeconds: IMMEDIATE_GRACE_SECONDS };
    await evictor.end(pod, { signal: cause, message, ...how }, signal);
    evicted.push(pod);
  }
  await evictor.gone(evicted, signal);
  return evicted.length > 0;
}
