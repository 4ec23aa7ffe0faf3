import type { Pod } from '@node-agent/pod-spec';
import type { EvictionOptions } from './options.ts';
import { isHard, type Threshold } from './threshold.ts';

/** Grace period of a pod that is evicted immediately, in seconds. */
export const IMMEDIATE_GRACE_SECONDS = 1;

/**
 * Returns the grace period of a pod that is evicted for a threshold: one second for a hard threshold; for a soft
 * threshold the pod's own grace period, limited by `maxPodGracePeriodSeconds`.
 */
export function gracePeriodSeconds(
  { spec }: Pick<Pod, 'spec'>,
  threshold: Threshold,
  { maxPodGracePeriodSeconds: max }: Pick<Required<EvictionOptions>, 'maxPodGracePeriodSeconds'>,
): number {
  if (isHard(threshold)) return IMMEDIATE_GRACE_SECONDS;
  const own = spec.terminationGracePeriodSeconds;
  if (max < 0) return own ?? IMMEDIATE_GRACE_SECONDS;
  return Math.max(IMMEDIATE_GRACE_SECONDS, own === undefined ? max : Math.min(max, own));
}
