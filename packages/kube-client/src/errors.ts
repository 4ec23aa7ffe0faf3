import { brand, hasBrand } from '@node-agent/async';

/** Why the API server refused or failed (`metav1.StatusReason`); `Unknown` where it gave no reason. */
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
 * Why a request failed: the server's reason, or what happened on this side of the wire. `ConnectionFailed`: no
 * connection, or it broke. `ConnectionReplaced`: this side ended it, to go on with newer credentials. `DeadlineExceeded`:
 * no answer in time. `Aborted`: the caller's signal, its reason is the cause.
 * `InvalidResponse`: an answer that is not what was asked for. `InvalidConfig`: a kubeconfig or option that cannot be used.
 * `InvalidRequest`: a request that no server would take. `CredentialsUnavailable`: a file, plugin or provider gave none.
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

/** One of several causes of a refusal: a field and what is wrong with it. */
export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

/** More on a refusal (`metav1.StatusDetails`). */
export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

/** What {@link KubeError} says beside its message. */
export interface KubeErrorOptions {
  readonly code: KubeErrorCode;
  readonly message: string;
  readonly httpStatus?: number | undefined;
  readonly details?: StatusDetails | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

const BRAND = '@node-agent/kube-client.KubeError';

/** A request of the API server that failed, or a reflector's or credential's failure. */
export class KubeError extends Error {
  static {
    brand(KubeError, BRAND);
  }

  override readonly name = 'KubeError';
  readonly code: KubeErrorCode;
  /** The HTTP status; `undefined` where no answer came. */
  readonly httpStatus: number | undefined;
  readonly details: StatusDetails | undefined;
  /** How long the server asks to wait, in milliseconds: the header `Retry-After`, or the status' own field. */
  readonly retryAfterMs: number | undefined;

  constructor({ code, message, httpStatus, details, retryAfterMs, cause }: KubeErrorOptions) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.httpStatus = httpStatus;
    this.details = details;
    this.retryAfterMs = retryAfterMs;
  }

  /** Whether a value is a `KubeError`, of this copy of the package or of another one. */
  static is(value: unknown): value is KubeError {
    return hasBrand(value, BRAND);
  }

  /**
   * Any thrown value as a `KubeError`: one that is one stays itself, an `AbortError` is `Aborted`, async's `Timeout` is
   * `DeadlineExceeded`, an error of the system (`ECONNREFUSED`, `ENOTFOUND`, a TLS failure, ...) is `ConnectionFailed`,
   * and anything else `Unknown`.
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

/** Whether a string is one of the reasons that this client knows. */
export function isStatusReason(reason: unknown): reason is StatusReason {
  return typeof reason === 'string' && Object.hasOwn(STATUS_REASONS, reason);
}

/** Whether a server does not have a resource version yet, or no longer because it lost its past: asking again is of no use. */
export function isTooLargeVersion({ code, message, details }: KubeError): boolean {
  if (details?.causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge')) return true;
  return code === 'Timeout' && message.includes('Too large resource version');
}
