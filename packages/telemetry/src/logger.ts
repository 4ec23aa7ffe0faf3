/** Values that go with a log line; keys are camelCase nouns (`podUid`, `containerId`), an error goes under `err`. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * A structured logger: a constant message, and what varies as fields. A pino logger is one as it is.
 * Upstream's verbosity 0 and 1 are `info`, 2 to 4 `debug`, above that `trace`.
 */
export interface Logger {
  trace(fields: LogFields, message: string): void;
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  /** A logger that adds `fields` to each of its lines. */
  child(fields: LogFields): Logger;
}

/** A logger that drops everything. */
export const silentLogger: Logger = {
  trace() {},
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLogger,
};
