import type { Clock } from '@node-agent/async';

/** A wait that ends early when it is called. A call while nobody waits ends the next wait at once. */
export class WakeUp {
  readonly #clock: Clock;
  #called = false;
  #end: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  call(): void {
    this.#called = true;
    this.#end();
  }

  /** Makes a call that nobody waited for undone. */
  forget(): void {
    this.#called = false;
  }

  /** Waits for a call, for `ms` milliseconds or for `signal`, whichever is first; `true` where it was a call. */
  wait(ms: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', end);
        this.#end = () => {};
        const called = this.#called;
        this.#called = false;
        resolve(called);
      };
      const timer = this.#clock.setTimer(ms, end);
      signal.addEventListener('abort', end, { once: true });
      this.#end = end;
      if (this.#called || signal.aborted) end();
    });
  }
}
