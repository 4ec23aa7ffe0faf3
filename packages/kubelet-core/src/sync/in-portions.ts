import type { TimeSlice } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';

/** Number of pods that are handled between two looks at the time slice. */
const PORTION = 4;

/**
 * Handles the pods of an update in order, a few at a time, so that a list of thousands does not delay probes, health
 * checks and running pods (K5). The workers of the handled pods continue in the same turn of the event loop until they
 * wait for something, which takes two to four times as long as the time slice. Calls `handle` once for an update
 * without pods.
 * @throws the signal's reason
 */
export async function inPortions(
  pods: readonly Pod[],
  handle: (portion: readonly Pod[]) => void,
  slice: Pick<TimeSlice, 'pause'>,
  signal: AbortSignal,
): Promise<void> {
  for (let start = 0; start === 0 || start < pods.length; start += PORTION) {
    if (pods.length > PORTION) await slice.pause(signal);
    handle(pods.slice(start, start + PORTION));
  }
}
