import { type DestinationStream, pino } from 'pino';
import type { Logger } from './logger.ts';

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

/** Fields whose values are never written (W4), on the first two levels of what is logged. */
const SECRET_FIELDS = [
  'authorization',
  'Authorization',
  'token',
  'password',
  'secret',
  'auth',
  'clientKey',
  'privateKey',
];

/** The level of a kubelet's `-v`: 0 and 1 are `info`, 2 to 4 `debug`, above that `trace`. */
export function levelOfVerbosity(verbosity: number): LogLevel {
  if (verbosity < 2) return 'info';
  return verbosity < 5 ? 'debug' : 'trace';
}

/** A logger that writes one JSON object a line: `level` as a word, `time` in RFC 3339, `msg`, and the fields. */
export function createLogger({ level = 'info', write, now }: LoggerOptions): Logger {
  const destination: DestinationStream = write === undefined ? pino.destination({ fd: 2, sync: true }) : { write };
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date(now()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRET_FIELDS.flatMap((name) => [name, `*.${name}`]), censor: '[redacted]' },
    },
    destination,
  );
}
