import { brand, hasBrand } from '@node-agent/async';

/**
 * Why an event was not written. `NotFound`: what was to be patched is gone. `Exists`: what was to be made is there.
 * `NamespaceTerminating`: nothing new may be made there. `Rejected`: it is not asked again. `Unavailable`: nothing is
 * wrong with the event itself, later it may go.
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
  /** How long the server asks to wait, in milliseconds: ten minutes at most, and `undefined` for what is no time. */
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

  /** Whether a value is a `EventSinkError`, of this copy of the package or of another one. */
  static is(value: unknown): value is EventSinkError {
    return hasBrand(value, BRAND);
  }

  /**
   * Reads `httpStatus` (none: no answer came), `code`, `details.causes` and `retryAfterMs` where the error has them. client-go gives up
   * an event at every answer that is no success (`recordEvent`, `tools/record/event.go`); here those pass that say nothing of the event,
   * but that the server is overloaded, away behind its proxy, or does not know us any more. A 500 may be one event's alone (a webhook of
   * its namespace), and would hold up all others.
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

/** As `@node-agent/kube-client` has it: what a server asks for holds up the events of ten minutes, and no more. */
const MAX_RETRY_AFTER_MS = 600_000;

/** A time to wait as somebody else gives it. */
function pauseMs(given: unknown): number | undefined {
  const isTime = typeof given === 'number' && Number.isFinite(given) && given >= 0;
  return isTime ? Math.min(given, MAX_RETRY_AFTER_MS) : undefined;
}

/** Errors of this side that are the same next time. */
const HOPELESS: ReadonlySet<unknown> = new Set(['InvalidRequest', 'InvalidConfig']);
/** Answers that pass, whatever the event: credentials rotate, requests time out, servers come back. */
const PASSING: ReadonlySet<number> = new Set([401, 408, 429, 502, 503, 504]);

function codeOf(httpStatus: unknown, code: unknown): EventSinkErrorCode {
  if (typeof httpStatus !== 'number') return HOPELESS.has(code) ? 'Rejected' : 'Unavailable';
  if (httpStatus === 404) return 'NotFound';
  if (httpStatus === 409 && code !== 'Conflict') return 'Exists';
  // A success that cannot be read is none of the server's words.
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
