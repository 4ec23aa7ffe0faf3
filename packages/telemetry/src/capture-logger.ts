import type { LogFields, Logger } from './logger.ts';

/** A line kept by a {@link captureLogger}. */
export interface LogLine {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error';
  readonly fields: LogFields;
  readonly message: string;
}

/** Returns a logger that appends its lines, and those of its children, to `lines`. */
export function captureLogger(): { readonly logger: Logger; readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const make = (bound: LogFields): Logger => {
    const at =
      (level: LogLine['level']) =>
      (fields: LogFields, message: string): void =>
        void lines.push({ level, fields: { ...bound, ...fields }, message });
    return {
      trace: at('trace'),
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      child: (fields) => make({ ...bound, ...fields }),
    };
  };
  return { logger: make({}), lines };
}
