import { brand, hasBrand } from '@node-agent/async';

/** Error codes of `PlegError`. `AlreadyStarted`: `start` was called twice. */
export type PlegErrorCode = 'AlreadyStarted';

const BRAND = '@node-agent/pleg.PlegError';

/**
 * Error in the use of the PLEG. Errors of the runtime are not thrown: they are stored in the cache, logged and reported
 * by `healthy()`.
 */
export class PlegError extends Error {
  static {
    brand(PlegError, BRAND);
  }

  readonly code: PlegErrorCode;

  constructor(code: PlegErrorCode, message: string) {
    super(message);
    this.name = 'PlegError';
    this.code = code;
  }

  /** Returns whether `value` is a `PlegError`, created by this or another copy of the package. */
  static is(value: unknown): value is PlegError {
    return hasBrand(value, BRAND);
  }
}
