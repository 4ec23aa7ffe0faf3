import type { Clock } from '@node-agent/async';

/**
 * Waits for a hint that a file may have changed, or for a timeout. A hint that arrives while there is no wait is kept
 * for the next wait.
 */
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
   * Waits up to `timeoutMs` for a hint. @returns whether there was a hint since the previous call
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
