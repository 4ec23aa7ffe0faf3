import type { Clock } from '@node-agent/async';
import { VolumeError } from '../errors.ts';
import { nextBackOffMs } from './volume-state.ts';

/** Records the last failure of an operation, and the time of the operation's next retry. */
export class BackOff {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #failure: VolumeError | undefined;
  #backOffMs: number | undefined;
  #retryAtMs: number | undefined;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  get failure(): VolumeError | undefined {
    return this.#failure;
  }

  /** Monotonic time of the next retry. */
  get retryAtMs(): number | undefined {
    return this.#retryAtMs;
  }

  /** Records a failure. @param maxMs longest back-off. Default: 122 s. @returns the back-off in milliseconds */
  failed(error: unknown, maxMs?: number): number {
    this.#failure = VolumeError.from(error);
    this.#backOffMs = nextBackOffMs(this.#backOffMs, maxMs);
    this.#retryAtMs = this.#clock.monotonic() + this.#backOffMs;
    return this.#backOffMs;
  }

  /** Resets the back-off after a success, or if the operation has a different goal from now on. */
  forgive(): void {
    this.#failure = undefined;
    this.#backOffMs = undefined;
    this.#retryAtMs = undefined;
  }
}
