import { checkNumbers } from './check-numbers.ts';
import { type Clock, sleep } from './clock.ts';
import { jitter, type Random } from './random.ts';

/** How {@link every} spaces its rounds. */
export interface EveryOptions {
  /** Whether the first round comes at once rather than after a period; true by default. */
  readonly immediate?: boolean;
  /** Makes each period longer by a random part of up to `maxFactor` times itself. */
  readonly jitter?: { readonly random: Random; readonly maxFactor: number };
}

/**
 * Calls `round` again and again, `periodMs` after the end of the one before, so that rounds never overlap
 * (`wait.JitterUntil` with `sliding`). Resolves once `signal` is aborted and the round under way has ended.
 * @throws RangeError for a period that is none; what a round throws, which ends the loop; but not the reason of the abort
 */
export async function every(
  clock: Pick<Clock, 'setTimer'>,
  periodMs: number,
  round: (signal: AbortSignal) => Promise<void> | void,
  signal: AbortSignal,
  options: EveryOptions = {},
): Promise<void> {
  checkNumbers({ periodMs }, { periodMs: 'notNegative' });
  const pause = (): number =>
    options.jitter === undefined ? periodMs : jitter(options.jitter.random, periodMs, options.jitter.maxFactor);
  try {
    if (options.immediate === false) await sleep(clock, pause(), signal);
    while (!signal.aborted) {
      await round(signal);
      await sleep(clock, pause(), signal);
    }
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error;
  }
}
