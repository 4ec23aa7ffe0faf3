/** A place in the program. */
export interface CallSite {
  /** `event-stream.ts`; of a bundle with its package, `pleg/index.js`. */
  readonly file: string;
  readonly line: number;
}

/** Deeper than the wrappers of a logger. */
const MAX_FRAMES = 20;
/** Frames of this package, of the logger that writes JSON, and of methods of loggers that pass a line on. */
const OF_LOGGERS =
  /[\\/]telemetry[\\/](src|dist)[\\/]|[\\/]pino[\\/]|^\s*at (?:async )?(?:\w+\.)?(?:\S+ \[as )?(trace|debug|info|warn|error)\b/;
const PLACE = /([^\s(]+):(\d+):\d+\)?$/;

/** The place that called a logger: the newest frame that is not a logger's own. `undefined` if the stack does not tell. */
export function callSite(): CallSite | undefined {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = MAX_FRAMES;
  const { stack = '' } = new Error('a place');
  Error.stackTraceLimit = limit;
  return callSiteIn(stack);
}

/** The same of the text of a stack. */
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
