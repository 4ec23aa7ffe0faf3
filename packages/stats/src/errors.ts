import { brand, hasBrand } from '@node-agent/async';

/**
 * Error codes of `StatsError`. `Unavailable`: a required part could not be read; the message names the part, and
 * `cause` is the reason. `InvalidOptions`: an option is invalid; the message names it.
 */
export type StatsErrorCode = 'Unavailable' | 'InvalidOptions';

const BRAND = '@node-agent/stats.StatsError';

/** Error of stats that could not be collected. The next collection reads the stats again. */
export class StatsError extends Error {
  static {
    brand(StatsError, BRAND);
  }

  override readonly name = 'StatsError';
  readonly code: StatsErrorCode;

  constructor(code: StatsErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Returns whether `value` is a `StatsError`, created by this or another copy of the package. */
  static is(value: unknown): value is StatsError {
    return hasBrand(value, BRAND);
  }
}
