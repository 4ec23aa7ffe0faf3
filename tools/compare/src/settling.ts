import { sleep } from '@node-agent/tools-bench';

/** Times of {@link settled}, in ms. */
export interface SettlingTimes {
  /** Interval between two counts. */
  readonly everyMs: number;
  /** Time after which the wait ends if the count does not change. */
  readonly quietMs: number;
  /** Maximum time of the wait. */
  readonly mostMs: number;
}

/**
 * Waits until all pods have started, or until the number of started pods no longer changes. The second condition is
 * needed because the pods of some cases never start. The time that the other pods need is not compared, because it
 * depends on the machine.
 * @param count returns the number of started pods
 * @param all number of all pods
 * @throws the signal's reason if the signal is aborted
 */
export async function settled(
  count: () => Promise<number>,
  all: number,
  { everyMs, quietMs, mostMs }: SettlingTimes,
  signal: AbortSignal,
): Promise<void> {
  const begin = performance.now();
  let started = await count();
  let since = begin;
  while (started < all) {
    const now = performance.now();
    if (now - since >= quietMs || now - begin >= mostMs) return;
    await sleep(everyMs, signal);
    const next = await count();
    if (next !== started) since = performance.now();
    started = next;
  }
}
