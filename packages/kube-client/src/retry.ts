import { errorCode } from '@node-agent/host';
import { isTooLargeVersion, type KubeError } from './errors.ts';

/** Errors of a connection that was there and broke, after which a read may simply be sent again. */
const BROKEN_CONNECTION = new Set([
  'ECONNRESET',
  'EPIPE',
  'ECONNABORTED',
  'ERR_HTTP2_STREAM_ERROR',
  'ERR_HTTP2_SESSION_ERROR',
]);

/** What {@link retryDelayMs} decides on. */
export interface FailedAttempt {
  readonly method: string;
  readonly error: KubeError;
  /** 1 for the first. */
  readonly attempt: number;
  readonly maxRetries: number;
}

/**
 * How long to wait before a failed request is sent again, in milliseconds; `undefined`: not at all. A 429 or 5xx with
 * `Retry-After` is; a GET whose connection broke is, after a second (client-go's `rest/with_retry.go`). Not so a version that is too large,
 * whoever named it knows what to do instead.
 */
export function retryDelayMs({ method, error, attempt, maxRetries }: FailedAttempt): number | undefined {
  if (attempt > maxRetries || isTooLargeVersion(error)) return undefined;
  if (error.httpStatus !== undefined) {
    const retriable = error.httpStatus === 429 || error.httpStatus >= 500;
    return retriable ? error.retryAfterMs : undefined;
  }
  return method === 'GET' && isBrokenConnection(error) ? 1000 : undefined;
}

/** Whether a connection that had been made broke; not a refused one, nor one that could not be made. */
function isBrokenConnection(error: KubeError): boolean {
  if (error.code !== 'ConnectionFailed') return false;
  return BROKEN_CONNECTION.has(errorCode(error.cause) ?? '');
}

/** No server means more than this by `Retry-After`; a proxy with a wrong clock may say years. */
export const MAX_RETRY_AFTER_MS = 600_000;

/** The header `Retry-After` in milliseconds, ten minutes at most: seconds, or an HTTP date against `nowMs` (the wall clock). */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\s*\d{1,9}\s*$/.test(header)) return Math.min(Number(header) * 1000, MAX_RETRY_AFTER_MS);
  const atMs = Date.parse(header);
  return Number.isNaN(atMs) ? undefined : Math.min(Math.max(0, atMs - nowMs), MAX_RETRY_AFTER_MS);
}
