import type { Facts } from '../facts/facts.ts';

/** Longer than it takes until a watch that hangs is dialled anew. */
const HUNG_WATCH_MS = 130_000;
/** As that, where lists are not streamed: no bookmark has come yet. */
const HUNG_PLAIN_WATCH_MS = 220_000;

/** How long a watch may hang, with nothing to be seen of it, that began while the API server was in trouble. */
export function watchSilenceMs(facts: Facts): number {
  return facts.api.staleUntilMs < facts.kubeletStartedAtMs ? HUNG_WATCH_MS : HUNG_PLAIN_WATCH_MS;
}
