import { errorText } from '@node-agent/telemetry';
import { exitCodes } from './exit-codes.ts';

/** A failed command. The message says what the user can do. Scripts distinguish the kinds of failure by `exitCode`. */
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

/**
 * Returns a `CtlError` unchanged. Any other error means that a response lacks fields that every kubelet sends:
 * responses are not validated field by field.
 */
export function asCtlError(error: unknown): CtlError {
  if (error instanceof CtlError) return error;
  return new CtlError(`unexpected answer from the kubelet: ${errorText(error)}`, exitCodes.failed, { cause: error });
}
