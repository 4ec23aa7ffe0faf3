import { errorCode } from '@node-agent/host';
import { isTooLargeVersion, type KubeError } from './errors.ts';

/** Codes of errors that mean that an established connection broke. A read may be repeated after such an error. */
const BROKEN_CONNECTION = new Set([
  'ECONNRESET',
  'EPIPE',
  'ECONNABORTED',
  'ERR_HTTP2_STREAM_ERROR',
  'ERR_HTTP2_SESSION_ERROR',
]);

/** The input of {@link retryDelayMs}. */
export interface FailedAttempt {
  readonly method: string;
  readonly error: KubeError;
  /** The number of the failed attempt, beginning with 1. */
  readonly attempt: number;
  readonly maxRetries: number;
}

/**
 * Returns how long to wait before a failed request is repeated, in milliseconds, or `undefined` if it must not be
 * repeated. A 429 or 5xx with `Retry-After` is repeated; a GET whose connection broke is repeated after one second
 * (client-go's `rest/with_retry.go`). A version that is too large is not repeated: the caller knows what to do instead.
 */
export function retryDelayMs({ method, error, attempt, maxRetries }: FailedAttempt): number | undefined {
  if (attempt > maxRetries || isTooLargeVersion(error)) return undefined;
  if (error.httpStatus !== undefined) {
    const retriable = error.httpStatus === 429 || error.httpStatus >= 500;
    return retriable ? error.retryAfterMs : undefined;
  }
  return method === 'GET' && isBrokenConnection(error) ? 1000 : undefined;
}

/**
 * Reports whether the cause of an error is that an established connection broke. Returns false for a connection that
 * could not be made.
 */
function isBrokenConnection(error: KubeError): boolean {
  if (error.code !== 'ConnectionFailed') return false;
  return BROKEN_CONNECTION.has(errorCode(error.cause) ?? '');
}

/** The upper limit for the wait in `Retry-After`, in milliseconds. A proxy with a wrong clock may request years. */
export const MAX_RETRY_AFTER_MS = 600_000;

/**
 * Returns the header `Retry-After` in milliseconds, at most ten minutes. The header is in seconds, or an HTTP date that
 * is compared with `nowMs` (wall clock).
 */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\s*\d{1,9}\s*$/.test(header)) return Math.min(Number(header) * 1000, MAX_RETRY_AFTER_MS);
  const atMs = Date.parse(header);
  return Number.isNaN(atMs) ? undefined : Math.min(Math.max(0, atMs - nowMs), MAX_RETRY_AFTER_MS);
}
