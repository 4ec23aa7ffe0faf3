import { type LogStream, parseTimestamp } from './cri-log-line.ts';
import { ContainerLogError } from './errors.ts';

/** Which part of a container's log is wanted, and how: as `PodLogOptions` of the API. */
export interface LogReadOptions {
  /** The last lines only; all where absent. */
  readonly tailLines?: number;
  /** Nothing older than so many seconds. */
  readonly sinceSeconds?: number;
  /** Nothing older than this time, in RFC 3339; the later of the two counts. */
  readonly sinceTime?: string;
  /** How many bytes are given at most, timestamps counted. */
  readonly limitBytes?: number;
  /** Whether each line begins with its time. Default: false. */
  readonly timestamps?: boolean;
  /** One stream alone; both where absent. */
  readonly stream?: LogStream;
  /** Goes on with what is written, until this container has ended and all is read. */
  readonly follow?: { readonly containerId: string };
}

/**
 * From which time on lines are wanted, in milliseconds since the Unix epoch; `undefined` for from the beginning.
 * @throws ContainerLogError `InvalidOptions` for options that make no sense
 */
export function checkLogOptions(options: LogReadOptions, nowMs: number): number | undefined {
  for (const name of ['tailLines', 'sinceSeconds', 'limitBytes'] as const) {
    const value = options[name];
    if (value !== undefined && !(Number.isSafeInteger(value) && value >= 0)) {
      throw new ContainerLogError('InvalidOptions', `${name}: must be a whole number of at least 0, got ${value}`);
    }
  }
  const { sinceSeconds, sinceTime } = options;
  const times: number[] = [];
  if (sinceSeconds !== undefined) times.push(nowMs - sinceSeconds * 1000);
  if (sinceTime !== undefined) {
    const parsed = parseTimestamp(sinceTime);
    if (!parsed) {
      throw new ContainerLogError('InvalidOptions', `sinceTime: not an RFC 3339 time: ${JSON.stringify(sinceTime)}`);
    }
    times.push(parsed.timeMs);
  }
  return times.length === 0 ? undefined : Math.max(...times);
}
