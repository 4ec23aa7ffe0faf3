import { brand, hasBrand } from '@node-agent/async';

/**
 * Why the API server did not take a status. `NotFound`: there is no such pod. `Forbidden`: the same, where the Node authorizer is used: it
 * knows nothing of a pod that is gone; or this node may not. `Conflict`: it has another UID, or others write at the same time. `Invalid`:
 * what it shows may not become that. `CannotRevive`: the same, of a mirror pod whose static pod has begun anew. `Failed`: anything else, to
 * be tried again.
 */
export type StatusApiErrorCode = 'NotFound' | 'Forbidden' | 'Conflict' | 'Invalid' | 'CannotRevive' | 'Failed';

const BRAND = '@node-agent/status.StatusApiError';

/** What a {@link StatusApi} failed with; the cause is its own error. */
export class StatusApiError extends Error {
  static {
    brand(StatusApiError, BRAND);
  }

  override readonly name = 'StatusApiError';
  readonly code: StatusApiErrorCode;
  /** How long the server asks to wait, in milliseconds: kept up to ten minutes, and as if absent where it is no finite number from 0 on. */
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

  /** Whether a value is a `StatusApiError`, of this copy of the package or of another one. */
  static is(value: unknown): value is StatusApiError {
    return hasBrand(value, BRAND);
  }

  /** Reads `httpStatus` and `retryAfterMs` where the error has them, as `@node-agent/kube-client`'s do. */
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
