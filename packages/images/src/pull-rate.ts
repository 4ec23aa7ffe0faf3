import type { Clock } from '@node-agent/async';

/** How often a pull may begin. */
export interface PullRateOptions {
  /** Pulls a second (`registryPullQPS`); 0 is no limit. */
  readonly qps: number;
  /** How many may begin at once after a pause (`registryBurst`). */
  readonly burst: number;
}

/** A token bucket: it never waits, it refuses (`pkg/kubelet/images/helpers.go`, throttleImagePulling). */
export class PullRate {
  readonly #clock: Clock;
  readonly #options: PullRateOptions;
  #tokens: number;
  #filledAtMs: number;

  constructor(clock: Clock, options: PullRateOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#tokens = options.burst;
    this.#filledAtMs = clock.monotonic();
  }

  /** Takes a token; `false` where there is none. */
  tryTake(): boolean {
    const { qps, burst } = this.#options;
    if (qps <= 0) return true;
    const nowMs = this.#clock.monotonic();
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#filledAtMs) * qps) / 1000);
    this.#filledAtMs = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
