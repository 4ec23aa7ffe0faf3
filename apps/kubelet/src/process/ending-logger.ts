import type { Logger } from '@node-agent/telemetry';

/**
 * Error codes of the API client and the CRI client for calls that were in progress when the client was closed, or that
 * were made afterwards.
 */
const CLOSING_CODES: readonly unknown[] = ['Aborted', 'ConnectionReplaced', 'CANCELLED'];

/** Maximum depth to which a chain of error causes is searched. */
const MAX_DEPTH = 8;

/**
 * Returns whether an error was caused by closing a client. Checks error codes instead of classes, so that this module
 * does not depend on the classes of other packages.
 */
export function isCausedByClosing(error: unknown, depth = 0): boolean {
  if (!(error instanceof Error) || depth > MAX_DEPTH) return false;
  if (error.name === 'AbortError' || ('code' in error && CLOSING_CODES.includes(error.code))) return true;
  if (error instanceof AggregateError && error.errors.length > 0) {
    return error.errors.every((part) => isCausedByClosing(part, depth + 1));
  }
  return isCausedByClosing(error.cause, depth + 1);
}

/**
 * Wraps a logger. After `ending` is aborted, warnings and errors that were caused by closing a client are logged at
 * debug level.
 */
export function endingLogger(logger: Logger, ending: AbortSignal): Logger {
  const unlessClosing =
    (level: 'warn' | 'error'): Logger['error'] =>
    (fields, message) =>
      logger[ending.aborted && isCausedByClosing(fields.err) ? 'debug' : level](fields, message);
  return {
    trace: (fields, message) => logger.trace(fields, message),
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: unlessClosing('warn'),
    error: unlessClosing('error'),
    child: (fields) => endingLogger(logger.child(fields), ending),
  };
}
