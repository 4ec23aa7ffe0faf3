import type { Clock } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import type { Logger } from '@node-agent/telemetry';
import type { Decisions } from './decisions.ts';
import type { Evictor } from './evictor.ts';
import { IMMEDIATE_GRACE_SECONDS } from './grace-period.ts';
import { type StorageViolation, storageViolation } from './local-storage.ts';
import type { EvictionPods } from './ports.ts';
import type { StatsSnapshot } from './stats-reader.ts';

/** Dependencies of the enforcement of local storage limits. */
export interface StorageLimitsParts {
  readonly pods: EvictionPods;
  readonly evictor: Evictor;
  readonly decisions: Decisions;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

/** A pod that exceeds one of its storage limits. */
export interface OverLimit extends StorageViolation {
  readonly pod: Pod;
}

/** Returns the pods that must be evicted because they exceed their own storage limits. */
export function overStorageLimits(
  { pods, evictor, logger }: Pick<StorageLimitsParts, 'pods' | 'evictor' | 'logger'>,
  { statsOf }: Pick<StatsSnapshot, 'statsOf'>,
): readonly OverLimit[] {
  return pods.active().flatMap((pod): readonly OverLimit[] => {
    const stats = statsOf(pod);
    const violation = stats && storageViolation(pod, stats);
    if (violation === undefined || evictor.isTerminating(pod)) return [];
    if (!pods.isCritical(pod)) return [{ pod, ...violation }];
    logger.warn({ podUid: pod.metadata.uid, ...violation }, 'Eviction manager: cannot evict a critical pod');
    return [];
  });
}

/**
 * Evicts the pods one after another, then waits for all of them together. Skips a pod that was evicted for a node
 * shortage while earlier pods were terminating. @throws the signal's reason
 */
export async function evictOverLimits(
  { pods, evictor, decisions, clock }: Pick<StorageLimitsParts, 'pods' | 'evictor' | 'decisions' | 'clock'>,
  over: readonly OverLimit[],
  signal: AbortSignal,
): Promise<void> {
  const evicted: Pod[] = [];
  for (const { pod, signal: cause, message } of over) {
    if (evictor.isTerminating(pod) || pods.isGone(pod)) continue;
    evicted.push(pod);
    const record = { cause, outcome: 'evicted', reclaims: [], ranked: [], evicted: pod.metadata.uid, message } as const;
    decisions.add({ ...record, atMs: clock.now() });
    const how = { isDisruption: false, gracePeriodSeconds: IMMEDIATE_GRACE_SECONDS };
    await evictor.evict(pod, { signal: cause, message, ...how }, signal);
  }
  await evictor.waitUntilGone(evicted, signal);
}
