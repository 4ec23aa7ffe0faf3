/** Fields of a log line. Keys are camelCase nouns (`podUid`, `containerId`); an error uses the key `err`. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * A structured logger: constant messages, with the variable parts as fields. A pino logger satisfies this interface.
 * Upstream's verbosity 0 and 1 correspond to `info`, 2 to 4 to `debug`, and higher values to `trace`.
 */
export interface Logger {
  trace(fields: LogFields, message: string): void;
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  /** Returns a logger that adds `fields` to each line. */
  child(fields: LogFields): Logger;
}

/** A logger that drops all lines. */
export const silentLogger: Logger = {
  trace() {},
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLogger,
};
