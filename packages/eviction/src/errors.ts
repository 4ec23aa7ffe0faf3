import { brand, hasBrand } from '@node-agent/async';

/**
 * Error codes of `EvictionError`. `InvalidOptions`: a threshold, a grace period, a minimum reclaim or another option is
 * invalid; the message names the field.
 */
export type EvictionErrorCode = 'InvalidOptions';

const BRAND = '@node-agent/eviction.EvictionError';

/** Error for invalid options of an eviction manager. */
export class EvictionError extends Error {
  static {
    brand(EvictionError, BRAND);
  }

  override readonly name = 'EvictionError';
  readonly code: EvictionErrorCode;

  constructor(code: EvictionErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Returns whether `value` is an `EvictionError`, created by this or another copy of the package. */
  static is(value: unknown): value is EvictionError {
    return hasBrand(value, BRAND);
  }
}
