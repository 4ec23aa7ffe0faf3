import type { pino as createPino, Logger as PinoLogger } from 'pino';
import { callSite } from './call-site.ts';
import { errorFields } from './error-fields.ts';
import { errorChainText } from './error-text.ts';
import type { LogLevel } from './log-level.ts';
import type { LogFields, Logger } from './logger.ts';
import { redact, redactFields } from './redact.ts';

/** Options of a JSON logger. */
export interface JsonLoggerOptions {
  /** The function `pino` of the package pino. */
  readonly pino: typeof createPino;
  readonly level: LogLevel;
  /** @param isError whether the line is an error */
  readonly write: (line: string, isError: boolean) => void;
  /** Returns the wall clock time, in ms. */
  readonly now: () => number;
  /** Returns whether errors are logged with their stacks. Default: always false. */
  readonly hasStacks?: () => boolean;
}

/** pino's number of the level `error`. */
const PINO_ERROR = 50;

/** klog verbosity that corresponds to each level. */
const VERBOSITY: Readonly<Record<string, number>> = { info: 0, warn: 0, debug: 4, trace: 5 };

/**
 * Returns a logger that writes one JSON object per line, with the fields of `k8s.io/component-base/logs/json`: `ts`
 * (milliseconds since the epoch), `v` (verbosity; absent for errors), `caller` (file and line), `logger` (component),
 * `msg`, `err` (error message). Additional fields are `level` (as a word) and `errVerbose`: an error's class, code and
 * causes, and at `-v 4` its stack. Secrets are censored (W4).
 */
export function jsonLogger({ pino, level, write, now, hasStacks = () => false }: JsonLoggerOptions): Logger {
  // With this property, pino sets the level of each line before it writes the line.
  const destination = { [Symbol.for('pino.metadata')]: true, lastLevel: 0, write: writeLine };
  function writeLine(line: string): void {
    write(line, destination.lastLevel >= PINO_ERROR);
  }
  const root = pino(
    {
      level,
      base: null,
      timestamp: () => `,"ts":${now()}${callerField()}`,
      formatters: {
        level: (label) => ({ level: label, v: VERBOSITY[label] }),
        log: (fields) => logFields(fields, hasStacks()),
      },
    },
    destination,
  );
  return adapted(root);
}

/** Returns upstream's `caller` field. */
function callerField(): string {
  const place = callSite();
  return place === undefined ? '' : `,"caller":${JSON.stringify(`${place.file}:${place.line}`)}`;
}

function logFields(fields: LogFields, withStacks: boolean): Record<string, unknown> {
  const { err, ...others } = fields;
  if (!(err instanceof Error)) return redactFields(fields);
  return redactFields({ ...others, err: errorChainText(err), errVerbose: redact(errorFields(err, withStacks)) });
}

/**
 * Wraps the logger so that the fields of child loggers are formatted too; pino does not apply its formatters to them.
 */
function adapted(logger: PinoLogger): Logger {
  return {
    trace: logger.trace.bind(logger),
    debug: logger.debug.bind(logger),
    info: logger.info.bind(logger),
    warn: logger.warn.bind(logger),
    error: logger.error.bind(logger),
    child: ({ component, ...fields }) =>
      adapted(logger.child(redactFields({ ...(component !== undefined && { logger: component }), ...fields }))),
  };
}
