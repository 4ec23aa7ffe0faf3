/** Lowest level that is logged. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error';

/** All levels, from least to most severe. */
export const levels: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error'];

/** A log level that can be changed while the program runs. */
export class LogLevelSwitch {
  /** Level from the next line on, for a logger and all its children. */
  level: LogLevel;

  constructor(level: LogLevel) {
    this.level = level;
  }
}

/** Returns the level of a kubelet's `-v`: 0 and 1 are `info`, 2 to 4 `debug`, and higher values `trace`. */
export function levelOfVerbosity(verbosity: number): LogLevel {
  if (verbosity < 2) return 'info';
  return verbosity < 5 ? 'debug' : 'trace';
}
