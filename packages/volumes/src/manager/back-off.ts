import type { Clock } from '@node-agent/async';
import { VolumeError } from '../errors.ts';
import { nextBackOffMs } from './volume-state.ts';

/** Why something failed last, and from when on it may be tried again. */
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

  /** By the monotonic clock. */
  get retryAtMs(): number | undefined {
    return this.#retryAtMs;
  }

  /** It has failed once more. @returns for how long it is left alone */
  failed(error: unknown): number {
    this.#failure = VolumeError.from(error);
    this.#backOffMs = nextBackOffMs(this.#backOffMs);
    this.#retryAtMs = this.#clock.monotonic() + this.#backOffMs;
    return this.#backOffMs;
  }

  /** It has succeeded, or is another thing from now on. */
  forgive(): void {
    this.#failure = undefined;
    this.#backOffMs = undefined;
    this.#retryAtMs = undefined;
  }
}
