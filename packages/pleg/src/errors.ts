/** What can go wrong with the generator itself. `AlreadyStarted`: `start` was called twice. */
export type PlegErrorCode = 'AlreadyStarted';

/** An error of the generator, not of the runtime: those are in the cache, in the log and behind `healthy()`. */
export class PlegError extends Error {
  readonly code: PlegErrorCode;

  constructor(code: PlegErrorCode, message: string) {
    super(message);
    this.name = 'PlegError';
    this.code = code;
  }
}
