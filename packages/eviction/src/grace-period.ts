import type { Pod } from '@node-agent/pod-spec';
import type { EvictionOptions } from './options.ts';
import { isHard, type Threshold } from './threshold.ts';

/** What a pod that has no time gets. */
export const IMMEDIATE_GRACE_SECONDS = 1;

/** How long a pod has to end that goes for a threshold: no time for a hard one, its own and not more than the most for a soft one. */
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
