import { brand, hasBrand } from '@node-agent/async';

/**
 * Reasons why the API server rejected a status.
 * - `NotFound`: the pod does not exist.
 * - `Forbidden`: this node may not write the pod, or the pod does not exist: the Node authorizer also forbids pods that
 *   it does not know.
 * - `Conflict`: the pod has another UID, or other clients write at the same time.
 * - `Invalid`: the status cannot change in this way.
 * - `CannotRevive`: like `Invalid`, for a mirror pod whose static pod was restarted.
 * - `Failed`: any other error; the write is retried.
 */
export type StatusApiErrorCode = 'NotFound' | 'Forbidden' | 'Conflict' | 'Invalid' | 'CannotRevive' | 'Failed';

const BRAND = '@node-agent/status.StatusApiError';

/** Error of a {@link StatusApi}. The original error is the `cause`. */
export class StatusApiError extends Error {
  static {
    brand(StatusApiError, BRAND);
  }

  override readonly name = 'StatusApiError';
  readonly code: StatusApiErrorCode;
  /**
   * Retry delay that the server requested, in milliseconds. Delays are limited to ten minutes; a value that is negative
   * or not finite is ignored.
   */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: StatusApiErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
  }

  /** Returns whether `value` is a `StatusApiError`, created by this or another copy of the package. */
  static is(value: unknown): value is StatusApiError {
    return hasBrand(value, BRAND);
  }

  /**
   * Converts an error. Reads `httpStatus` and `retryAfterMs` if present, as errors of `@node-agent/kube-client` have
   * them.
   */
  static from(error: unknown): StatusApiError {
    if (StatusApiError.is(error)) return error;
    const message = error instanceof Error ? error.message : String(error);
    const { httpStatus, retryAfterMs } = isRecord(error) ? error : {};
    return new StatusApiError(codeOf(httpStatus), message, {
      cause: error,
      retryAfterMs: typeof retryAfterMs === 'number' ? retryAfterMs : undefined,
    });
  }
}

function codeOf(httpStatus: unknown): StatusApiErrorCode {
  if (httpStatus === 404) return 'NotFound';
  if (httpStatus === 403) return 'Forbidden';
  if (httpStatus === 422) return 'Invalid';
  return httpStatus === 409 ? 'Conflict' : 'Failed';
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
