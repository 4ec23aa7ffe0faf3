/** A source location in the program. */
export interface CallSite {
  /** File name (`event-stream.ts`); for a bundled package with its directory (`pleg/index.js`). */
  readonly file: string;
  readonly line: number;
}

/** Number of stack frames that are searched: more than the frames of a logger and its wrappers. */
const MAX_FRAMES = 20;
/** Matches the frames of this package, of pino, and of logger methods that pass a line on. */
const OF_LOGGERS =
  /[\\/]telemetry[\\/](src|dist)[\\/]|[\\/]pino[\\/]|^\s*at (?:async )?(?:\w+\.)?(?:\S+ \[as )?(trace|debug|info|warn|error)\b/;
const PLACE = /([^\s(]+):(\d+):\d+\)?$/;

/**
 * Returns the location that called the logger: the newest stack frame outside the logger. Returns `undefined` if the
 * stack has no frame outside the logger.
 */
export function callSite(): CallSite | undefined {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = MAX_FRAMES;
  const { stack = '' } = new Error('a place');
  Error.stackTraceLimit = limit;
  return callSiteIn(stack);
}

/** Returns the location of the newest frame outside the logger in a stack's text. */
export function callSiteIn(stack: string): CallSite | undefined {
  for (const frame of stack.split('\n').slice(1)) {
    if (OF_LOGGERS.test(frame)) continue;
    const [, url = '', line = ''] = PLACE.exec(frame) ?? [];
    if (url === '' || url.startsWith('node:')) return undefined;
    return { file: fileName(url), line: Number(line) };
  }
  return undefined;
}

function fileName(url: string): string {
  const parts = url.split(/[\\/]/);
  const at = parts.lastIndexOf('dist');
  const name = parts.at(-1) ?? url;
  return at > 0 && at === parts.length - 2 ? `${parts[at - 1]}/${name}` : name;
}
