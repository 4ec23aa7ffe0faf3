import { errorText } from './error-text.ts';
import type { LogLevel } from './log-level.ts';
import type { LogFields, Logger } from './logger.ts';
import { redactFields } from './redact.ts';

/** Options of a {@link consoleLogger}. */
export interface ConsoleLoggerOptions {
  /** Lowest level that is written. Default: `info`. */
  readonly level?: LogLevel;
  /** Receives each line without its line end. Default: writes to the standard error stream. */
  readonly write?: (line: string) => void;
}

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const satisfies readonly LogLevel[];

/**
 * Returns a logger for interactive use: one plain line per message, `warn Pod is slow podUid=u1 afterMs=20`. Secrets
 * are censored (W4). Errors appear as their message without the stack. A service should use `createLogger`.
 */
export function consoleLogger({
  level = 'info',
  write = (line) => void process.stderr.write(`${line}\n`),
}: ConsoleLoggerOptions = {}): Logger {
  const withFields = (own: LogFields): Logger => {
    const at = (name: LogLevel) => (fields: LogFields, message: string) => {
      if (LEVELS.indexOf(name) < LEVELS.indexOf(level)) return;
      const texts = Object.entries(redactFields({ ...own, ...withErrorTexts(fields) })).map(
        ([key, value]) => ` ${key}=${fieldText(value)}`,
      );
      write(`${name.padEnd(5)} ${message}${texts.join('')}`);
    };
    return {
      trace: at('trace'),
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      child: (fields) => withFields({ ...own, ...withErrorTexts(fields) }),
    };
  };
  return withFields({});
}

function withErrorTexts(fields: LogFields): LogFields {
  const texts = Object.entries(fields).map(([key, value]) => [key, value instanceof Error ? errorText(value) : value]);
  return Object.fromEntries(texts);
}

/** Formats the value of a field. Text without blanks is not quoted, so that logs can be searched for `podUid=u1`. */
function fieldText(value: unknown): string {
  if (typeof value === 'string' && /^[^\s"=]+$/.test(value)) return value;
  try {
    return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}` : part)) ?? 'undefined';
  } catch (error) {
    // The value is circular, such as a socket, or refuses to be converted to JSON. Logging must not throw.
    return JSON.stringify(errorText(error));
  }
}
