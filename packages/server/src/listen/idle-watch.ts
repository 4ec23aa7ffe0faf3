import type { Clock, Timer } from '@node-agent/async';

export interface IdleLimits {
  /** How long both ends may be silent, in milliseconds. */
  readonly idleMs: number;
  /** How long one end may be silent after the other has ended, in milliseconds. */
  readonly lingerMs: number;
}

/** Calls `onIdle` when no data was received on a stream for too long. */
export class IdleWatch {
  readonly #clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly #limits: IdleLimits;
  readonly #onIdle: () => void;
  #lastMs: number;
  #isEnding = false;
  #timer: Timer | undefined;

  constructor(clock: Pick<Clock, 'monotonic' | 'setTimer'>, limits: IdleLimits, onIdle: () => void) {
    this.#clock = clock;
    this.#limits = limits;
    this.#onIdle = onIdle;
    this.#lastMs = clock.monotonic();
    this.#watch();
  }

  /** Records that data was received. */
  heard(): void {
    this.#lastMs = this.#clock.monotonic();
  }

  /** Records that one end has ended. The shorter limit `lingerMs` applies from now on. */
  linger(): void {
    this.#isEnding = true;
    this.heard();
    this.#watch();
  }

  cancel(): void {
    this.#timer?.cancel();
  }

  #watch(): void {
    this.#timer?.cancel();
    const { idleMs, lingerMs } = this.#limits;
    const leftMs = (this.#isEnding ? lingerMs : idleMs) - (this.#clock.monotonic() - this.#lastMs);
    if (leftMs <= 0) this.#onIdle();
    else this.#timer = this.#clock.setTimer(leftMs, () => this.#watch());
  }
}
