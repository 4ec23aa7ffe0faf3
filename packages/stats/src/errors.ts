import { brand, hasBrand } from '@node-agent/async';

/**
 * `Unavailable`: a part without which there is no answer could not be read; the message says which, and `cause` why.
 * `InvalidOptions`: an option cannot hold; the message names it.
 */
export type StatsErrorCode = 'Unavailable' | 'InvalidOptions';

const BRAND = '@node-agent/stats.StatsError';

/** Figures that could not be told. The next collection tries again. */
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

  /** Whether a value is a `StatsError`, of this copy of the package or of another one. */
  static is(value: unknown): value is StatsError {
    return hasBrand(value, BRAND);
  }
}
