import { brand, hasBrand } from './brand.ts';

/**
 * `Timeout`: a deadline passed. `Busy`: a second consumer used a queue that allows only one. `AlreadyStarted`: `start`
 * of a component was called a second time.
 */
export type AsyncErrorCode = 'Timeout' | 'Busy' | 'AlreadyStarted';

const BRAND = '@node-agent/async.AsyncError';

/** Error of this package's functions. After an abort the functions throw the signal's reason instead. */
export class AsyncError extends Error {
  static {
    brand(AsyncError, BRAND);
  }

  readonly code: AsyncErrorCode;

  constructor(code: AsyncErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'AsyncError';
    this.code = code;
  }

  /** Returns whether a value is an `AsyncError` of this copy of the package or of another copy. */
  static is(value: unknown): value is AsyncError {
    return hasBrand(value, BRAND);
  }
}
