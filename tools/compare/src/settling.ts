import { sleep } from '@node-agent/tools-bench';

/** Times of {@link settled}, in milliseconds. */
export interface SettlingTimes {
  /** Between two counts. */
  readonly everyMs: number;
  /** So long nothing may have come. */
  readonly quietMs: number;
  /** After this no more is waited for. */
  readonly mostMs: number;
}

/**
 * Waits until all have begun, or no more of them begin: what does not begin is about that, and how long the others take is the
 * machine's, which is not compared.
 * @param count how many have begun
 * @param all as many as there are
 * @throws the signal's reason
 */
export async function settled(
  count: () => Promise<number>,
  all: number,
  { everyMs, quietMs, mostMs }: SettlingTimes,
  signal: AbortSignal,
): Promise<void> {
  const begin = performance.now();
  let begun = await count();
  let since = begin;
  while (begun < all) {
    const now = performance.now();
    if (now - since >= quietMs || now - begin >= mostMs) return;
    await sleep(everyMs, signal);
    const next = await count();
    if (next !== begun) since = performance.now();
    begun = next;
  }
}
