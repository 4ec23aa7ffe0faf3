import { type CallSite, callSite } from './call-site.ts';
import { errorChainText } from './error-text.ts';
import { type LogLevel, levels } from './log-level.ts';
import type { LogFields, Logger } from './logger.ts';
import { redactFields } from './redact.ts';
import { textLine } from './text-line.ts';

/** Options of a text logger. */
export interface TextLoggerOptions {
  readonly level: LogLevel;
  /** @param isError whether the line is an error */
  readonly write: (line: string, isError: boolean) => void;
  /** Returns the wall clock time, in ms. */
  readonly now: () => number;
  readonly pid: number;
  /** Returns the source location that logs a line. */
  readonly callSite?: () => CallSite | undefined;
}

/** klog's placeholder for an unknown source file. */
const NO_SOURCE = '???';

/**
 * Returns a logger in klog's text format: with the file and line of the log call, and with the component as `logger`,
 * as klog's textlogger writes them. Secrets are censored (W4).
 */
export function textLogger(options: TextLoggerOptions): Logger {
  return bound(options, {});
}

function bound(options: TextLoggerOptions, of: LogFields): Logger {
  const { level: least, write, now, pid, callSite: placeOf = callSite } = options;
  const { component, ...rest } = of;
  const part = typeof component === 'string' ? component : undefined;
  const at = (level: LogLevel, severity: 'I' | 'W' | 'E'): Logger['info'] => {
    if (levels.indexOf(level) < levels.indexOf(least)) return () => {};
    return (fields, message) => {
      const { err, ...others } = fields;
      // The error comes before the other fields of the call, as in klog.
      const all = { logger: part, ...(err !== undefined && { err }), ...rest, ...others };
      const place = placeOf();
      const said = Object.entries(all).map(([key, value]) => [
        key,
        value instanceof Error ? errorChainText(value) : value,
      ]);
      const source = place?.file ?? part ?? NO_SOURCE;
      const lineNumber = place?.line ?? 1;
      const shown = redactFields(Object.fromEntries(said));
      const line = textLine({ ...{ severity, atMs: now(), pid, source, lineNumber }, message, fields: shown });
      write(line, severity === 'E');
    };
  };
  return {
    trace: at('trace', 'I'),
    debug: at('debug', 'I'),
    info: at('info', 'I'),
    warn: at('warn', 'W'),
    error: at('error', 'E'),
    child: (fields) => bound(options, { ...of, ...fields }),
  };
}
