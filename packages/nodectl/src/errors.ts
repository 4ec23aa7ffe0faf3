import { exitCodes } from './exit-codes.ts';

/** A failed command. The message says what to do; `exitCode` tells scripts the kind of failure. */
export class CtlError extends Error {
  override readonly name = 'CtlError';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = exitCodes.failed, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** An invalid command line. The message names the invalid part. */
export class UsageError extends CtlError {
  constructor(message: string) {
    super(message, exitCodes.usage);
  }
}
