import { brand, hasBrand } from './brand.ts';

/**
 * `Timeout`: a deadline passed. `Busy`: a second consumer came where one is allowed. `AlreadyStarted`: `start` of a component was
 * called a second time.
 */
export type AsyncErrorCode = 'Timeout' | 'Busy' | 'AlreadyStarted';

const BRAND = '@node-agent/async.AsyncError';

/** What this package's own functions fail with; an abort fails with the signal's reason. */
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

  /** Whether a value is a `AsyncError`, of this copy of the package or of another one. */
  static is(value: unknown): value is AsyncError {
    return hasBrand(value, BRAND);
  }
}
