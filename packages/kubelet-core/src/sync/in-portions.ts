import { type Clock, TimeSlice } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';

/** How many pods of an update are handled before pod workers, and then other events, have their turn. */
const PORTION = 8;

/**
 * Handles the pods of an update in their order, a few at a time: a list of thousands must not hold up probes, health checks and the pods
 * that run (K5). Called once for an update without pods.
 * @throws the signal's reason
 */
export async function inPortions(
  pods: readonly Pod[],
  handle: (portion: readonly Pod[]) => void,
  clock: Pick<Clock, 'monotonic' | 'setTimer'>,
  signal: AbortSignal,
): Promise<void> {
  const slice = new TimeSlice({ clock });
  for (let start = 0; start === 0 || start < pods.length; start += PORTION) {
    if (start > 0) await slice.pause(signal);
    handle(pods.slice(start, start + PORTION));
  }
}
