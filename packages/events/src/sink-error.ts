import { brand, hasBrand } from '@node-agent/async';

/**
 * Why an event was not written. `NotFound`: what was to be patched is gone. `Exists`: what was to be made is there.
 * `NamespaceTerminating`: nothing new may be made there. `Rejected`: no server will take it. `Unavailable`:
 * later it may go.
 */
export type EventSinkErrorCode = 'NotFound' | 'Exists' | 'NamespaceTerminating' | 'Rejected' | 'Unavailable';

const BRAND = '@node-agent/events.EventSinkError';

/** What an {@link EventSink} failed with; the cause is the sink's own error. */
export class EventSinkError extends Error {
  static {
    brand(EventSinkError, BRAND);
  }

  override readonly name = 'EventSinkError';
  readonly code: EventSinkErrorCode;
  /** How long the server asks to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: EventSinkErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
  }

  /** Whether a value is a `EventSinkError`, of this copy of the package or of another one. */
  static is(value: unknown): value is EventSinkError {
    return hasBrand(value, BRAND);
  }

  /**
   * Reads `httpStatus` (none: no answer came), `code`, `details.causes` and `retryAfterMs` where the error has them. client-go gives up on
   * every answer that is a Status; here a server that is overloaded, ill or does not know us any more is asked again.
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
        retryAfterMs: typeof retryAfterMs === 'number' ? retryAfterMs : undefined,
      },
    );
  }
}

/** Errors of this side that are the same next time. */
const HOPELESS: ReadonlySet<unknown> = new Set(['InvalidRequest', 'InvalidConfig']);
/** Answers that pass: credentials rotate, requests time out, servers recover. */
const PASSING: ReadonlySet<number> = new Set([401, 408, 429]);

function codeOf(httpStatus: unknown, code: unknown): EventSinkErrorCode {
  if (typeof httpStatus !== 'number') return HOPELESS.has(code) ? 'Rejected' : 'Unavailable';
  if (httpStatus === 404) return 'NotFound';
  if (httpStatus === 409 && code !== 'Conflict') return 'Exists';
  const passes = httpStatus >= 500 || httpStatus < 400 || httpStatus === 409 || PASSING.has(httpStatus);
  return passes ? 'Unavailable' : 'Rejected';
}

function hasCause(details: unknown, reason: string): boolean {
  const causes = isRecord(details) ? details.causes : undefined;
  return Array.isArray(causes) && causes.some((cause) => isRecord(cause) && cause.reason === reason);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
