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
}

/** What stands before the message where no component says it. */
const NO_SOURCE = '???';

/** A logger of klog's text format; secrets are censored (W4). */
export function textLogger(options: TextLoggerOptions): Logger {
  return bound(options, {});
}

function bound(options: TextLoggerOptions, of: LogFields): Logger {
  const { level: least, write, now, pid } = options;
  const { component, ...rest } = of;
  const source = typeof component === 'string' ? component : NO_SOURCE;
  const at = (level: LogLevel, severity: 'I' | 'W' | 'E'): Logger['info'] => {
    if (levels.indexOf(level) < levels.indexOf(least)) return () => {};
    return (fields, message) => {
      const { err, ...others } = fields;
      // An error comes first, as klog has it.
      const all = { ...(err !== undefined && { err }), ...rest, ...others };
      const said = Object.entries(all).map(([key, value]) => [
        key,
        value instanceof Error ? errorChainText(value) : value,
      ]);
      write(textLine({ severity, atMs: now(), pid, source, message, fields: redactFields(Object.fromEntries(said)) }));
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
