import { type Clock, Semaphore } from '@node-agent/async';

/** Number of clean-ups that run at the same time. */
const AT_ONCE = 8;
/** Time in ms after which a clean-up does not count any more, because one of its volumes may hang (W6). */
const COUNTED_MS = 1_000;

/**
 * Limits how many clean-ups of finished pods run at the same time. A kubelet may start on a node with thousands of
 * finished pods; without a limit, each step of a pod that may run would wait for a step of all of them (K5).
 */
export class CleanUpTurns {
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #places = new Semaphore(AT_ONCE);

  constructor(clock: Pick<Clock, 'setTimer'>) {
    this.#clock = clock;
  }

  /** Runs a clean-up as soon as it may start. @throws the signal's reason; the error of the clean-up */
  async run(cleanUp: () => Promise<void>, signal: AbortSignal): Promise<void> {
    using place = await this.#places.acquire(signal);
    const timer = this.#clock.setTimer(COUNTED_MS, () => place[Symbol.dispose]());
    try {
      await cleanUp();
    } finally {
      timer.cancel();
    }
  }
}
