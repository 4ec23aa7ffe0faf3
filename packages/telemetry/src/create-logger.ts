import { systemClock } from '@node-agent/async';
import { callSite } from './call-site.ts';
import type { ImportPino } from './import-pino.ts';
import type { LogLevel, LogLevelSwitch } from './log-level.ts';
import type { Logger } from './logger.ts';
import { loadPino } from './optional-pino.ts';
import { textLogger } from './text-logger.ts';
import { isLogged, type ModuleVerbosity, moduleLevels } from './vmodule.ts';

/** Options of {@link createLogger}. */
export interface LoggerOptions {
  /** klog's text format or upstream's JSON objects. Default: `text`. */
  readonly format?: 'text' | 'json';
  /** Lowest level that is written, or a switch that changes it. Default: `info`. */
  readonly level?: LogLevel | LogLevelSwitch;
  /**
   * Verbosity of single source files (`logging.vmodule`). If set, a line that `level` excludes costs CPU time, because the
   * logger must find its source file in the stack.
   */
  readonly vmodule?: readonly ModuleVerbosity[];
  /**
   * Receives each line, including its line end, and whether the line is an error. Default: writes to the standard error
   * stream.
   */
  readonly write?: (line: string, isError: boolean) => void;
  /** Returns the wall clock time, in ms. Default: the system clock. */
  readonly now?: () => number;
  /** Process ID shown in text lines. Default: the ID of this process. */
  readonly pid?: number;
  /** Imports pino. Default: `import('pino')`. */
  readonly importPino?: ImportPino;
}

/**
 * Creates a logger in one of the two formats of Kubernetes components (`logging.format`). Secrets are censored (W4).
 * The JSON logger's optional peer dependency (pino, 9 MB of memory) is loaded only for the JSON format. If pino is not
 * installed, the logger writes text, and its first line is an error that says so.
 */
export async function createLogger(options: LoggerOptions = {}): Promise<Logger> {
  const {
    format = 'text',
    level = 'info',
    write = toStandardError(),
    now = systemClock.now,
    pid = process.pid,
    vmodule = [],
  } = options;
  // With a level switch, the underlying logger accepts all levels and the switch drops lines below its current level.
  const least = typeof level === 'string' && vmodule.length === 0 ? level : 'trace';
  // Stacks are logged only at the debug level and below.
  const hasStacks = (): boolean => {
    const current = typeof level === 'string' ? level : level.level;
    return isLogged('debug', current);
  };
  const asText = (): Logger => textLogger({ level: least, write, now, pid });
  const asJson = async (): Promise<Logger> => {
    const pino = await loadPino(options.importPino);
    if (pino !== undefined) {
      const { jsonLogger } = await import('./json-logger.ts');
      return jsonLogger({ pino, level: least, write, now, hasStacks });
    }
    const logger = asText();
    logger.error({ format }, 'Writing log lines as text, because the package pino is not installed (npm install pino)');
    return logger;
  };
  const logger = format === 'text' ? asText() : await asJson();
  if (typeof level === 'string' && vmodule.length === 0) return logger;
  const current = typeof level === 'string' ? { level } : level;
  if (vmodule.length === 0) return switched(logger, (wanted) => isLogged(wanted, current.level));
  const levelAt = moduleLevels(vmodule);
  return switched(logger, (wanted) => {
    if (isLogged(wanted, current.level)) return true;
    const least = levelAt(callSite());
    return least !== undefined && isLogged(wanted, least);
  });
}

function switched(logger: Logger, isOn: (level: LogLevel) => boolean): Logger {
  const at =
    (level: LogLevel): Logger[LogLevel] =>
    (fields, message) => {
      if (isOn(level)) logger[level](fields, message);
    };
  return {
    ...{ trace: at('trace'), debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
    child: (fields) => switched(logger.child(fields), isOn),
  };
}

/**
 * Writes whole lines in order. If the reader of the stream has closed it, lines are lost, but the process continues.
 */
function toStandardError(): (line: string) => void {
  const { stderr } = process;
  stderr.on('error', () => {});
  return (line) => void stderr.write(line);
}
