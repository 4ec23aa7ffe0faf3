import { type CallSite, callSite } from './call-site.ts';
import { errorChainText } from './error-text.ts';
import { type LogLevel, levels } from './log-level.ts';
import type { LogFields, Logger } from './logger.ts';
import { redactFields } from './redact.ts';
import { textLine } from './text-line.ts';

/** What a text logger works with. */
export interface TextLoggerOptions {
  readonly level: LogLevel;
  readonly write: (line: string) => void;
  /** The wall clock, in ms. */
  readonly now: () => number;
  readonly pid: number;
  /** Finds the place that logs a line. */
  readonly callSite?: () => CallSite | undefined;
}

/** klog's own word for a file that is not known. */
const NO_SOURCE = '???';

/** A logger of klog's text format, with the file and line that log, and the component as `logger`, as klog's textlogger has them; secrets are censored (W4). */
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
      // An error comes first, as klog has it.
      const all = { logger: part, ...(err !== undefined && { err }), ...rest, ...others };
      const place = placeOf();
      const said = Object.entries(all).map(([key, value]) => [
        key,
        value instanceof Error ? errorChainText(value) : value,
      ]);
      const source = place?.file ?? part ?? NO_SOURCE;
      const lineNumber = place?.line ?? 1;
      const shown = redactFields(Object.fromEntries(said));
      write(textLine({ ...{ severity, atMs: now(), pid, source, lineNumber }, message, fields: shown }));
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
