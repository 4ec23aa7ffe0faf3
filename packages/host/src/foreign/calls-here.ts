import { type Clock, Semaphore } from '@node-agent/async';
import { LONGEST_BACK_OFF_MS } from './hang-rule.ts';

/** How long a call waits for the one before it, which takes no time unless something is wrong. */
const TURN_MS = 250;

/**
 * Calls that this process makes by itself: one at a time, so that a file system which does not answer, against what is
 * known of its kind, holds one thread and no other call. Whatever does not fit in is for a helper process.
 */
export class CallsHere {
  readonly #clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly #deadlineMs: number;
  readonly #turns = new Semaphore(1);
  /** Places where one hung, and until when none is made there. */
  readonly #distrustedUntilMs = new Map<string, number>();
  #isLate = false;

  constructor(clock: Pick<Clock, 'monotonic' | 'setTimer'>, deadlineMs: number) {
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
  }

  /**
   * @param onLate called once, when the deadline is over; makes the error
   * @returns what the call gives; `undefined` where it is not made here, too
   */
  async run<T>(place: string, call: () => Promise<T>, onLate: () => Error): Promise<T | undefined> {
    if (!this.#mayCall(place)) return undefined;
    const turn = await this.#turn();
    if (turn === undefined) return undefined;
    if (!this.#mayCall(place)) {
      turn[Symbol.dispose]();
      return undefined;
    }
    const late = Promise.withResolvers<never>();
    const timer = this.#clock.setTimer(this.#deadlineMs, () => {
      this.#isLate = true;
      this.#distrust(place);
      late.reject(onLate());
    });
    const answer = call().finally(() => {
      // Not before it has really ended: until then it has a thread.
      timer.cancel();
      this.#isLate = false;
      turn[Symbol.dispose]();
    });
    return await Promise.race([answer, late.promise]);
  }

  #mayCall(place: string): boolean {
    return !this.#isLate && this.#clock.monotonic() >= (this.#distrustedUntilMs.get(place) ?? 0);
  }

  #distrust(place: string): void {
    const nowMs = this.#clock.monotonic();
    for (const [other, untilMs] of this.#distrustedUntilMs) if (untilMs <= nowMs) this.#distrustedUntilMs.delete(other);
    this.#distrustedUntilMs.set(place, nowMs + LONGEST_BACK_OFF_MS);
  }

  async #turn(): Promise<Disposable | undefined> {
    const giveUp = new AbortController();
    const timer = this.#clock.setTimer(TURN_MS, () => giveUp.abort());
    try {
      return await this.#turns.acquire(giveUp.signal);
    } catch {
      return undefined;
    } finally {
      timer.cancel();
    }
  }
}
