/**
 * Why the API server did not take a status. `NotFound`: there is no such pod. `Conflict`: it has another UID, or others
 * write at the same time. `Failed`: anything else, to be tried again.
 */
export type StatusApiErrorCode = 'NotFound' | 'Conflict' | 'Failed';

/** What a {@link StatusApi} failed with; the cause is its own error. */
export class StatusApiError extends Error {
  override readonly name = 'StatusApiError';
  readonly code: StatusApiErrorCode;
  /** How long the server asks to wait, in milliseconds. */
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

  /** Reads `httpStatus` and `retryAfterMs` where the error has them, as `@node-agent/kube-client`'s do. */
  static from(error: unknown): StatusApiError {
    if (error instanceof StatusApiError) return error;
    const message = error instanceof Error ? error.message : String(error);
    const { httpStatus, retryAfterMs } = isRecord(error) ? error : {};
    const code = httpStatus === 404 ? 'NotFound' : httpStatus === 409 ? 'Conflict' : 'Failed';
    return new StatusApiError(code, message, {
      cause: error,
      retryAfterMs: typeof retryAfterMs === 'number' ? retryAfterMs : undefined,
    });
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
