import { brand, hasBrand, type NumberRule, numberProblem } from '@node-agent/async';

/**
 * What went wrong with a server. `ListenFailed`: it could not bind to its address. `InvalidOptions`: it cannot be as it is
 * told to be. `TooManyReviews`: the API server is asked about too many requests at once. `BadReview`: its answer contradicts
 * itself. `Ended`: nobody waits for an answer any more. `BadStreamingUrl`: the runtime gave a URL that no stream may be
 * taken to. `StreamingFailed`: the runtime's streaming endpoint did not answer as it should. `Busy`:
 * there is one of it at a time, and it is under way.
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

/** The one error that this package throws. */
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

  /** Whether a value is a `ServerError`, of this copy of the package or of another one. */
  static is(value: unknown): value is ServerError {
    return hasBrand(value, BRAND);
  }
}

/** @throws ServerError `InvalidOptions` naming the first number that breaks its rule */
export function checkNumberOptions<T extends object>(
  options: T,
  rules: { readonly [K in keyof T]?: NumberRule },
): void {
  const problem = numberProblem(options, rules);
  if (problem !== undefined) throw new ServerError('InvalidOptions', problem);
}
