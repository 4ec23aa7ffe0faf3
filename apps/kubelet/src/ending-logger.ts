import type { Logger } from '@node-agent/telemetry';

/** What clients say of calls that were under way when they were closed, or that came too late; the API server's and the runtime's. */
const CLOSING_CODES: readonly unknown[] = ['Aborted', 'ConnectionReplaced', 'CANCELLED'];

/** Further down a chain of causes nothing is looked for. */
const MAX_DEPTH = 8;

/** Whether an error, or all that caused it, is of a client that is being closed. By its code: no class of another package is known here. */
export function isOfClosing(error: unknown, depth = 0): boolean {
  if (!(error instanceof Error) || depth > MAX_DEPTH) return false;
  if (error.name === 'AbortError' || ('code' in error && CLOSING_CODES.includes(error.code))) return true;
  if (error instanceof AggregateError && error.errors.length > 0) {
    return error.errors.every((part) => isOfClosing(part, depth + 1));
  }
  return isOfClosing(error.cause, depth + 1);
}

/** A logger to which, once `ending` is aborted, the errors of clients that are being closed are no errors any more, but debugging. */
export function endingLogger(logger: Logger, ending: AbortSignal): Logger {
  const unlessClosing =
    (level: 'warn' | 'error'): Logger['error'] =>
    (fields, message) =>
      logger[ending.aborted && isOfClosing(fields.err) ? 'debug' : level](fields, message);
  return {
    trace: (fields, message) => logger.trace(fields, message),
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: unlessClosing('warn'),
    error: unlessClosing('error'),
    child: (fields) => endingLogger(logger.child(fields), ending),
  };
}
