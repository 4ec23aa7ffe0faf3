import { checkComponents, checkOptions } from './check-arguments.ts';
import { type Clock, sleep } from './clock.ts';

/** The longest that a loop over many items holds the event loop by default, in milliseconds. */
const SLICE_MS = 10;
/** How many items are handled before the time is looked at. */
const ITEMS_PER_LOOK = 8;

/** Settings of a {@link TimeSlice}. */
export interface TimeSliceOptions {
  /** How long the event loop is held at most, in milliseconds, but for the items that are handled between two looks at the clock; 10 by default. */
  readonly sliceMs?: number;
  /** How many items are handled before the clock is looked at; 8 by default. */
  readonly itemsPerLook?: number;
}

/**
 * Divides a loop over many items into portions, so that timers and sockets have their turn in between. After every few items, call
 * {@link pause} if {@link isDue}: promises that the items have settled run then, and if the slice is used up, other events too.
 */
export class TimeSlice {
  readonly #clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly #sliceMs: number;
  readonly #itemsPerLook: number;
  #startedAtMs: number;
  #items = 0;

  /** @throws OptionsError naming the component or option that is wrong */
  constructor(components: { readonly clock: Pick<Clock, 'monotonic' | 'setTimer'> }, options: TimeSliceOptions = {}) {
    checkOptions('TimeSlice', options, { sliceMs: 'notNegative?', itemsPerLook: 'limit?' });
    checkComponents('TimeSlice', components, { clock: ['monotonic', 'setTimer'] });
    const { sliceMs = SLICE_MS, itemsPerLook = ITEMS_PER_LOOK } = options;
    this.#clock = components.clock;
    this.#sliceMs = sliceMs;
    this.#itemsPerLook = itemsPerLook;
    this.#startedAtMs = this.#clock.monotonic();
  }

  /** Counts one more item. @returns whether {@link pause} is to be awaited before the next item */
  isDue(): boolean {
    this.#items += 1;
    return this.#items % this.#itemsPerLook === 0;
  }

  /** Lets settled promises run, and, if the slice is used up, the event loop. @throws the signal's reason */
  async pause(signal?: AbortSignal): Promise<void> {
    await Promise.resolve();
    if (this.#clock.monotonic() - this.#startedAtMs < this.#sliceMs) return;
    await sleep(this.#clock, 0, signal);
    this.#startedAtMs = this.#clock.monotonic();
  }
}
