/** `Timeout`: a deadline passed. `Busy`: a second consumer came where one is allowed. */
export type AsyncErrorCode = 'Timeout' | 'Busy';

/** What this package's own functions fail with; an abort fails with the signal's reason. */
export class AsyncError extends Error {
  readonly code: AsyncErrorCode;

  constructor(code: AsyncErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'AsyncError';
    this.code = code;
  }
}
