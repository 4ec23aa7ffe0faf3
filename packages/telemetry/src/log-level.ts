/** How much is logged: a level, and all above it. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error';

/** From the least to the gravest. */
export const levels: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error'];

/** How much is logged, where that may change while a program runs. */
export class LogLevelSwitch {
  /** Holds from the next line on, for a logger and all its children. */
  level: LogLevel;

  constructor(level: LogLevel) {
    this.level = level;
  }
}

/** The level of a kubelet's `-v`: 0 and 1 are `info`, 2 to 4 `debug`, above that `trace`. */
export function levelOfVerbosity(verbosity: number): LogLevel {
  if (verbosity < 2) return 'info';
  return verbosity < 5 ? 'debug' : 'trace';
}
