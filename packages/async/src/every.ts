import { checkNumbers } from './check-numbers.ts';
import { type Clock, sleep } from './clock.ts';
import { jitter, type Random } from './random.ts';

/** Options for the times at which {@link every} calls `round`. */
export interface EveryOptions {
  /** Whether the first round runs immediately instead of after one period. Default: true. */
  readonly immediate?: boolean;
  /** Adds to each period a random part of up to `maxFactor` times the period. */
  readonly jitter?: { readonly random: Random; readonly maxFactor: number };
}

/**
 * Calls `round` repeatedly. Each round starts `periodMs` after the end of the previous round, so that rounds never
 * overlap (`wait.JitterUntil` with `sliding`). Resolves once `signal` is aborted and the current round has ended.
 * @throws RangeError if `periodMs` is not a valid period
 * @throws the error of a round, which ends the loop; an abort alone does not make the function throw
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
