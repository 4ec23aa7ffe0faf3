import { errorText } from './error-text.ts';
import type { LogLevel } from './log-level.ts';
import type { LogFields, Logger } from './logger.ts';
import { redactFields } from './redact.ts';

/** How a {@link consoleLogger} writes. */
export interface ConsoleLoggerOptions {
  /** `info` by default. */
  readonly level?: LogLevel;
  /** Where lines go, without their ends; the standard error stream by default. */
  readonly write?: (line: string) => void;
}

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const satisfies readonly LogLevel[];

/**
 * A logger for people who try something out: one plain line each, `warn  Pod is slow podUid=u1 afterMs=20`. Secrets are censored
 * (W4), errors are their message without the stack. For a service take `createLogger`.
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

/** What has no blanks stands as it is, so that a line can be searched for `podUid=u1`. */
function fieldText(value: unknown): string {
  if (typeof value === 'string' && /^[^\s"=]+$/.test(value)) return value;
  try {
    return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}` : part)) ?? 'undefined';
  } catch (error) {
    // What holds itself, as a socket does, or does not want to be JSON: no line is worth an exception.
    return JSON.stringify(errorText(error));
  }
}
