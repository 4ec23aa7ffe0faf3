import type { Clock } from '@node-agent/async';

/** A wait that {@link call} ends early. If there is no wait in progress, a call ends the next wait immediately. */
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

  /** Cancels a call that has not ended a wait yet. */
  forget(): void {
    this.#called = false;
  }

  /**
   * Waits for a call, for `ms` milliseconds or for `signal`, whichever comes first. @returns whether a call ended the
   * wait
   */
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
