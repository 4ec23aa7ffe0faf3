import { sleep } from '@node-agent/tools-bench';

/** Times of {@link settled}, in ms. */
export interface SettlingTimes {
  /** Interval between two counts. */
  readonly everyMs: number;
  /** Time without a change of the count after which the wait ends. */
  readonly quietMs: number;
  /** Maximum time of the wait. */
  readonly mostMs: number;
}

/**
 * Waits until all pods have started, or until the number of started pods no longer changes. Some cases are about pods
 * that never start; how long the others take depends on the machine and is not compared.
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
