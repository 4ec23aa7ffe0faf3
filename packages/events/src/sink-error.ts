import { brand, hasBrand } from '@node-agent/async';

/**
 * Why an event was not written.
 * - `NotFound`: the event to patch does not exist.
 * - `Exists`: the event to create exists already.
 * - `NamespaceTerminating`: the namespace accepts no new objects.
 * - `Rejected`: permanent; the event is not retried.
 * - `Unavailable`: temporary; the cause is not the event itself.
 */
export type EventSinkErrorCode = 'NotFound' | 'Exists' | 'NamespaceTerminating' | 'Rejected' | 'Unavailable';

const BRAND = '@node-agent/events.EventSinkError';

/** The failure of an {@link EventSink}. The cause is the sink's own error. */
export class EventSinkError extends Error {
  static {
    brand(EventSinkError, BRAND);
  }

  override readonly name = 'EventSinkError';
  readonly code: EventSinkErrorCode;
  /**
   * Time for which the server asks the client to wait, in milliseconds, at most ten minutes; `undefined` if the value
   * is missing or invalid.
   */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: EventSinkErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryAfterMs = pauseMs(options.retryAfterMs);
  }

  /** Returns whether a value is an `EventSinkError`, of this or of another copy of the package. */
  static is(value: unknown): value is EventSinkError {
    return hasBrand(value, BRAND);
  }

  /**
   * Converts an error by its `httpStatus` (absent: no response), `code`, `details.causes` and `retryAfterMs`. client-go
   * drops an event on every unsuccessful response (`recordEvent`, `tools/record/event.go`). Here, responses that do not
   * concern the event are temporary: the server is overloaded, unavailable behind its proxy, or does not accept the
   * credentials. A 500 is permanent, because it may concern a single event (a webhook of its namespace), and retrying
   * it would delay all others.
   */
  static from(error: unknown): EventSinkError {
    if (EventSinkError.is(error)) return error;
    const { httpStatus, code, retryAfterMs, details } = isRecord(error) ? error : {};
    const terminating = hasCause(details, 'NamespaceTerminating');
    return new EventSinkError(
      terminating ? 'NamespaceTerminating' : codeOf(httpStatus, code),
      error instanceof Error ? error.message : String(error),
      {
        cause: error,
        retryAfterMs: pauseMs(retryAfterMs),
      },
    );
  }
}

/** The same limit as in `@node-agent/kube-client`: a server can delay events by at most ten minutes. */
const MAX_RETRY_AFTER_MS = 600_000;

/** Validates a delay from an untrusted source. */
function pauseMs(given: unknown): number | undefined {
  const isTime = typeof given === 'number' && Number.isFinite(given) && given >= 0;
  return isTime ? Math.min(given, MAX_RETRY_AFTER_MS) : undefined;
}

/** Client-side errors that a retry cannot fix. */
const HOPELESS: ReadonlySet<unknown> = new Set(['InvalidRequest', 'InvalidConfig']);
/** Temporary responses, independent of the event: credentials are rotated, requests time out, servers recover. */
const PASSING: ReadonlySet<number> = new Set([401, 408, 429, 502, 503, 504]);

function codeOf(httpStatus: unknown, code: unknown): EventSinkErrorCode {
  if (typeof httpStatus !== 'number') return HOPELESS.has(code) ? 'Rejected' : 'Unavailable';
  if (httpStatus === 404) return 'NotFound';
  if (httpStatus === 409 && code !== 'Conflict') return 'Exists';
  // An unreadable response with a status of success does not mean that the server rejected the event.
  const passes = (httpStatus >= 200 && httpStatus < 300) || PASSING.has(httpStatus);
  return passes ? 'Unavailable' : 'Rejected';
}

function hasCause(details: unknown, reason: string): boolean {
  const causes = isRecord(details) ? details.causes : undefined;
  return Array.isArray(causes) && causes.some((cause) => isRecord(cause) && cause.reason === reason);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
