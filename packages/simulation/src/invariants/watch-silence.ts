import type { Facts } from '../facts/facts.ts';

/** Time in ms that is longer than the time until a hanging watch is reopened. */
const HUNG_WATCH_MS = 130_000;
/** The same limit in ms if lists are not streamed: the wait is longer, because no bookmark has arrived yet. */
const HUNG_PLAIN_WATCH_MS = 220_000;

/**
 * Returns the maximum time for which a watch may hang without a visible error if it was opened during a fault of the
 * API server.
 */
export function watchSilenceMs(facts: Facts): number {
  return facts.api.staleUntilMs < facts.kubeletStartedAtMs ? HUNG_WATCH_MS : HUNG_PLAIN_WATCH_MS;
}
