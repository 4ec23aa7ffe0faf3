import type { Clock } from '@node-agent/async';

/** Waits for a hint or for time to pass. A hint that comes while nobody waits is not lost. */
export class ChangeWaiter {
  readonly #clock: Clock;
  #hinted = false;
  #wake: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  hint(): void {
    this.#hinted = true;
    this.#wake?.();
  }

  /**
   * Resolves to whether there was a hint since the last call, at once or within `timeoutMs`.
   * @throws the signal's reason
   */
  async wait(timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    if (!this.#hinted) {
      await new Promise<void>((resolve) => {
        const timer = this.#clock.setTimer(timeoutMs, () => this.#wake?.());
        const wake = (): void => {
          timer.cancel();
          signal.removeEventListener('abort', wake);
          this.#wake = undefined;
          resolve();
        };
        this.#wake = wake;
        signal.addEventListener('abort', wake, { once: true });
      });
    }
    signal.throwIfAborted();
    const hinted = this.#hinted;
    this.#hinted = false;
    return hinted;
  }
}
