import { systemClock } from '@node-agent/async';
import { type LogLevel, type LogLevelSwitch, levels } from './log-level.ts';
import type { Logger } from './logger.ts';
import { textLogger } from './text-logger.ts';

/** How log lines are written. */
export interface LoggerOptions {
  /** klog's lines, or upstream's JSON objects; `text` by default. */
  readonly format?: 'text' | 'json';
  /** `info` by default. */
  readonly level?: LogLevel | LogLevelSwitch;
  /** Where lines go, whole ones; the standard error stream by default. */
  readonly write?: (line: string) => void;
  /** The wall clock, in ms; the machine's own by default. */
  readonly now?: () => number;
  /** The process' id, for text lines; this one's by default. */
  readonly pid?: number;
}

/**
 * A logger of one of the two formats of a Kubernetes component (`logging.format`); secrets are censored (W4). What JSON takes (pino, 9 MB of
 * memory) is loaded only for it.
 */
export async function createLogger(options: LoggerOptions = {}): Promise<Logger> {
  const {
    format = 'text',
    level = 'info',
    write = toStandardError(),
    now = systemClock.now,
    pid = process.pid,
  } = options;
  // With a switch, what is below its level gets as far as to it, and no further.
  const least = typeof level === 'string' ? level : 'trace';
  // Stacks are for who looks closely, as other debugging is.
  const hasStacks = (): boolean => {
    const current = typeof level === 'string' ? level : level.level;
    return levels.indexOf(current) <= levels.indexOf('debug');
  };
  const logger =
    format === 'text'
      ? textLogger({ level: least, write, now, pid })
      : (await import('./json-logger.ts')).jsonLogger({ level: least, write, now, hasStacks });
  return typeof level === 'string' ? logger : switched(logger, level);
}

function switched(logger: Logger, now: LogLevelSwitch): Logger {
  const at =
    (level: LogLevel): Logger[LogLevel] =>
    (fields, message) => {
      if (levels.indexOf(level) >= levels.indexOf(now.level)) logger[level](fields, message);
    };
  return {
    ...{ trace: at('trace'), debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
    child: (fields) => switched(logger.child(fields), now),
  };
}

/** Whole lines, in their order; a reader who is gone costs them, and nothing else. */
function toStandardError(): (line: string) => void {
  const { stderr } = process;
  stderr.on('error', () => {});
  return (line) => void stderr.write(line);
}
