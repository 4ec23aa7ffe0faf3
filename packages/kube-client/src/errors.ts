import { brand, hasBrand } from '@node-agent/async';

/** Why the API server rejected or failed a request (`metav1.StatusReason`). `Unknown` if the server gave no reason. */
export type StatusReason =
  | 'Unknown'
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Gone'
  | 'Invalid'
  | 'ServerTimeout'
  | 'StoreReadError'
  | 'Timeout'
  | 'TooManyRequests'
  | 'BadRequest'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'RequestEntityTooLarge'
  | 'UnsupportedMediaType'
  | 'InternalError'
  | 'Expired'
  | 'ServiceUnavailable';

const STATUS_REASONS: Readonly<Record<StatusReason, true>> = {
  Unknown: true,
  Unauthorized: true,
  Forbidden: true,
  NotFound: true,
  AlreadyExists: true,
  Conflict: true,
  Gone: true,
  Invalid: true,
  ServerTimeout: true,
  StoreReadError: true,
  Timeout: true,
  TooManyRequests: true,
  BadRequest: true,
  MethodNotAllowed: true,
  NotAcceptable: true,
  RequestEntityTooLarge: true,
  UnsupportedMediaType: true,
  InternalError: true,
  Expired: true,
  ServiceUnavailable: true,
};

/**
 * Why a request failed: the server's reason, or a cause on the client's side.
 * - `ConnectionFailed`: no connection could be made, or it broke.
 * - `ConnectionReplaced`: the client closed the connection to continue with newer credentials.
 * - `DeadlineExceeded`: no response in time.
 * - `Aborted`: the caller's signal was aborted; the signal's reason is the cause.
 * - `InvalidResponse`: the response is not of the requested kind.
 * - `InvalidConfig`: a kubeconfig or option is invalid.
 * - `InvalidRequest`: no server would accept the request.
 * - `CredentialsUnavailable`: a file, plugin or provider supplied no credentials.
 */
export type KubeErrorCode =
  | StatusReason
  | 'ConnectionFailed'
  | 'ConnectionReplaced'
  | 'DeadlineExceeded'
  | 'Aborted'
  | 'InvalidResponse'
  | 'InvalidConfig'
  | 'InvalidRequest'
  | 'CredentialsUnavailable';

/** One cause of a rejection: a field and what is wrong with it. */
export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

/** Details of a rejection (`metav1.StatusDetails`). */
export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

/** The constructor options of {@link KubeError}. */
export interface KubeErrorOptions {
  readonly code: KubeErrorCode;
  readonly message: string;
  readonly httpStatus?: number | undefined;
  readonly details?: StatusDetails | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

const BRAND = '@node-agent/kube-client.KubeError';

/** A failed request to the API server, or a failure of a reflector or of credentials. */
export class KubeError extends Error {
  static {
    brand(KubeError, BRAND);
  }

  override readonly name = 'KubeError';
  readonly code: KubeErrorCode;
  /** The HTTP status. The status is `undefined` if there was no response. */
  readonly httpStatus: number | undefined;
  readonly details: StatusDetails | undefined;
  /**
   * How long the server asks the client to wait, in milliseconds: from the header `Retry-After` or from the status
   * object.
   */
  readonly retryAfterMs: number | undefined;

  constructor({ code, message, httpStatus, details, retryAfterMs, cause }: KubeErrorOptions) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.httpStatus = httpStatus;
    this.details = details;
    this.retryAfterMs = retryAfterMs;
  }

  /** Returns whether a value is a `KubeError`, of this or of another copy of the package. */
  static is(value: unknown): value is KubeError {
    return hasBrand(value, BRAND);
  }

  /**
   * Converts any thrown value. A `KubeError` is returned unchanged, an `AbortError` becomes `Aborted`, the `Timeout` of
   * `@node-agent/async` becomes `DeadlineExceeded`, a system error (`ECONNREFUSED`, `ENOTFOUND`, a TLS failure, ...)
   * becomes `ConnectionFailed`, and anything else `Unknown`.
   */
  static from(error: unknown): KubeError {
    if (KubeError.is(error)) return error;
    if (!(error instanceof Error)) return new KubeError({ code: 'Unknown', message: String(error), cause: error });
    return new KubeError({ code: codeOf(error), message: error.message, cause: error });
  }
}

function codeOf(error: Error): KubeErrorCode {
  if (error.name === 'AbortError') return 'Aborted';
  if (!('code' in error) || typeof error.code !== 'string') return 'Unknown';
  if (error.code === 'Timeout') return 'DeadlineExceeded';
  return /^(E[A-Z]+|ERR_[A-Z0-9_]+|[A-Z][A-Z0-9_]+)$/.test(error.code) ? 'ConnectionFailed' : 'Unknown';
}

/** Reports whether a value is a `StatusReason` that this client knows. */
export function isStatusReason(reason: unknown): reason is StatusReason {
  return typeof reason === 'string' && Object.hasOwn(STATUS_REASONS, reason);
}

/**
 * Reports whether the error says that the requested resource version is newer than the server's: the server does not
 * have the version yet, or lost it. Repeating the same request does not help.
 */
export function isTooLargeVersion({ code, message, details }: KubeError): boolean {
  if (details?.causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge')) return true;
  return code === 'Timeout' && message.includes('Too large resource version');
}
