import { brand, hasBrand, type NumberRule, numberProblem } from '@node-agent/async';

/**
 * Why a server operation failed.
 * - `ListenFailed`: the server could not bind to its address.
 * - `InvalidOptions`: an option is invalid.
 * - `TooManyReviews`: too many token or access reviews wait for the API server.
 * - `BadReview`: the API server's review contradicts itself.
 * - `Ended`: no caller waits for the result any more.
 * - `BadStreamingUrl`: the runtime returned a streaming URL that the kubelet must not connect to.
 * - `StreamingFailed`: the runtime's streaming endpoint responded unexpectedly.
 * - `Busy`: an operation of which only one may run at a time is already in progress.
 */
export type ServerErrorCode =
  | 'ListenFailed'
  | 'InvalidOptions'
  | 'TooManyReviews'
  | 'BadReview'
  | 'Ended'
  | 'BadStreamingUrl'
  | 'StreamingFailed'
  | 'Busy';

const BRAND = '@node-agent/server.ServerError';

/** The only error that this package throws. */
export class ServerError extends Error {
  static {
    brand(ServerError, BRAND);
  }

  override readonly name = 'ServerError';
  readonly code: ServerErrorCode;

  constructor(code: ServerErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }

  /** Returns whether a value is a `ServerError`, of this or of another copy of the package. */
  static is(value: unknown): value is ServerError {
    return hasBrand(value, BRAND);
  }
}

/**
 * Checks number options against their rules. @throws ServerError `InvalidOptions` naming the first number that breaks
 * its rule
 */
export function checkNumberOptions<T extends object>(
  options: T,
  rules: { readonly [K in keyof T]?: NumberRule },
): void {
  const problem = numberProblem(options, rules);
  if (problem !== undefined) throw new ServerError('InvalidOptions', problem);
}
