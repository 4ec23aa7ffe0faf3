import { brand, hasBrand } from '@node-agent/async';

/** `InvalidOptions`: a threshold, a grace period, a minimum reclaim or another setting makes no sense; the message names the field. */
export type EvictionErrorCode = 'InvalidOptions';

const BRAND = '@node-agent/eviction.EvictionError';

/** What is wrong with what an eviction manager was made with. */
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

  /** Whether a value is an `EvictionError`, of this copy of the package or of another one. */
  static is(value: unknown): value is EvictionError {
    return hasBrand(value, BRAND);
  }
}
