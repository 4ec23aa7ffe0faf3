import { brand, hasBrand } from '@node-agent/async';

/** What can go wrong with the generator itself. `AlreadyStarted`: `start` was called twice. */
export type PlegErrorCode = 'AlreadyStarted';

const BRAND = '@node-agent/pleg.PlegError';

/** An error of the generator, not of the runtime: those are in the cache, in the log and behind `healthy()`. */
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

  /** Whether a value is a `PlegError`, of this copy of the package or of another one. */
  static is(value: unknown): value is PlegError {
    return hasBrand(value, BRAND);
  }
}
