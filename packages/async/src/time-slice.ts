import { checkComponents, checkOptions } from './check-arguments.ts';
import type { Clock } from './clock.ts';
import { ownTurn } from './turn-queue.ts';

/** Default for the longest time that a loop over many items blocks the event loop, in milliseconds. */
const SLICE_MS = 10;
/** Default number of items handled between two reads of the clock. */
const ITEMS_PER_LOOK = 8;

/** Settings of a {@link TimeSlice}. */
export interface TimeSliceOptions {
  /**
   * Longest time that the event loop is blocked, in milliseconds, not counting the items handled between two reads of
   * the clock. Default: 10.
   */
  readonly sliceMs?: number;
  /** Number of items handled between two reads of the clock. Default: 8. */
  readonly itemsPerLook?: number;
}

/**
 * Splits a loop over many items into portions, so that timers and sockets are served in between. The loop calls {@link
 * isDue} once per item and awaits {@link pause} if it returns true. `pause` lets settled promises run and, if the time
 * slice is used up, other events too. If several loops pause on the same clock, only one of them continues in each turn
 * of the event loop.
 */
export class TimeSlice {
  readonly #clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly #sliceMs: number;
  readonly #itemsPerLook: number;
  #startedAtMs: number;
  #items = 0;

  /** @throws OptionsError that names the invalid component or option */
  constructor(components: { readonly clock: Pick<Clock, 'monotonic' | 'setTimer'> }, options: TimeSliceOptions = {}) {
    checkOptions('TimeSlice', options, { sliceMs: 'notNegative?', itemsPerLook: 'limit?' });
    checkComponents('TimeSlice', components, { clock: ['monotonic', 'setTimer'] });
    const { sliceMs = SLICE_MS, itemsPerLook = ITEMS_PER_LOOK } = options;
    this.#clock = components.clock;
    this.#sliceMs = sliceMs;
    this.#itemsPerLook = itemsPerLook;
    this.#startedAtMs = this.#clock.monotonic();
  }

  /** Counts one item. @returns whether the caller must await {@link pause} before the next item */
  isDue(): boolean {
    this.#items += 1;
    return this.#items % this.#itemsPerLook === 0;
  }

  /** Lets settled promises run, and also the event loop if the time slice is used up. @throws the signal's reason */
  async pause(signal?: AbortSignal): Promise<void> {
    await Promise.resolve();
    if (this.#clock.monotonic() - this.#startedAtMs < this.#sliceMs) return;
    await ownTurn(this.#clock, signal);
    this.#startedAtMs = this.#clock.monotonic();
  }
}
