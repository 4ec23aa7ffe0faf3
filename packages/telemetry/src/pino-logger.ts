import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';
import { errorFields } from './error-fields.ts';
import type { Logger } from './logger.ts';
import { redact, redactFields } from './redact.ts';

/** How much is logged: a level, and all above it. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error';

/** How log lines are written. */
export interface LoggerOptions {
  /** `info` by default. */
  readonly level?: LogLevel;
  /** Where lines go, whole ones; the standard error stream by default. */
  readonly write?: (line: string) => void;
  /** The wall clock, in ms. */
  readonly now: () => number;
}

/** The level of a kubelet's `-v`: 0 and 1 are `info`, 2 to 4 `debug`, above that `trace`. */
export function levelOfVerbosity(verbosity: number): LogLevel {
  if (verbosity < 2) return 'info';
  return verbosity < 5 ? 'debug' : 'trace';
}

/**
 * A logger that writes one JSON object a line: `level` as a word, `time` in RFC 3339, `msg`, and the fields, of which
 * secrets are censored (W4).
 */
export function createLogger({ level = 'info', write, now }: LoggerOptions): Logger {
  const destination: DestinationStream = write === undefined ? pino.destination({ fd: 2, sync: true }) : { write };
  const root = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date(now()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }), log: redactFields },
      serializers: { err: (error: unknown) => redact(errorFields(error)) },
    },
    destination,
  );
  return redactChildren(root);
}

/** The logger as it is, but for the fields of its children: pino passes them by its formatters. */
function redactChildren(logger: PinoLogger): Logger {
  return {
    trace: logger.trace.bind(logger),
    debug: logger.debug.bind(logger),
    info: logger.info.bind(logger),
    warn: logger.warn.bind(logger),
    error: logger.error.bind(logger),
    child: (fields) => redactChildren(logger.child(redactFields(fields))),
  };
}
