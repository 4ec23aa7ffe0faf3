import type { Facts } from '../facts/facts.ts';

/** Time in ms after which a hanging watch is certainly reopened. */
const HUNG_WATCH_MS = 130_000;
/**
 * Time in ms after which a hanging watch is certainly reopened if lists are not streamed. The wait is longer, because
 * the watch has received no bookmark yet.
 */
const HUNG_PLAIN_WATCH_MS = 220_000;

/**
 * Returns the maximum time for which a watch may hang without a visible error if it was opened during a fault of the
 * API server.
 */
export function watchSilenceMs(facts: Facts): number {
  return facts.api.staleUntilMs < facts.kubeletStartedAtMs ? HUNG_WATCH_MS : HUNG_PLAIN_WATCH_MS;
}
