import { type Clock, TimeSlice } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';

/** Number of pods of an update that are handled before pod workers and other events get their turn. */
const PORTION = 8;

/**
 * Handles the pods of an update in order, a few at a time, so that a list of thousands does not delay probes, health
 * checks and running pods (K5). Calls `handle` once for an update without pods.
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
