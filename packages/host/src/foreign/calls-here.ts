import { type Clock, Semaphore } from '@node-agent/async';
import { LONGEST_BACK_OFF_MS } from './hang-rule.ts';

/**
 * Time in ms that a call waits for the end of the previous call. Normally, the previous call ends almost immediately.
 */
const TURN_MS = 250;

/**
 * Makes calls in this process, one at a time. If a file system hangs although its type should not, it blocks one thread
 * and no other call. The caller uses a helper process for calls that are not made here.
 */
export class CallsHere {
  readonly #clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly #deadlineMs: number;
  readonly #turns = new Semaphore(1);
  /**
   * Places where a call hung, with the time of the monotonic clock until which no call to the place is made in this
   * process.
   */
  readonly #distrustedUntilMs = new Map<string, number>();
  #isLate = false;

  constructor(clock: Pick<Clock, 'monotonic' | 'setTimer'>, deadlineMs: number) {
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
  }

  /**
   * @param onLate called once when the deadline has passed; returns the error
   * @returns the result of the call; also `undefined` if the call was not made here
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
      // The turn is released only when the call has really ended, even after its deadline, because the call occupies a
      // thread until then.
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
