import { type LogStream, parseTimestamp } from './cri-log-line.ts';
import { ContainerLogError } from './errors.ts';

/** Selection and format of a container's log, as `PodLogOptions` of the API. */
export interface LogReadOptions {
  /** Number of last lines to read. Default: all lines. */
  readonly tailLines?: number;
  /** Age in seconds from which lines are skipped. */
  readonly sinceSeconds?: number;
  /** Time (RFC 3339) before which lines are skipped. If `sinceSeconds` is set, too, the later time counts. */
  readonly sinceTime?: string;
  /** Largest number of output bytes, including timestamps. */
  readonly limitBytes?: number;
  /** Whether each line starts with its time. Default: false. */
  readonly timestamps?: boolean;
  /** Stream to read. Default: both streams. */
  readonly stream?: LogStream;
  /** Follows the log until this container has exited and all its output is read. */
  readonly follow?: { readonly containerId: string };
}

/**
 * Returns the time from which lines are wanted, in milliseconds since the Unix epoch; `undefined` if there is no limit.
 * @throws ContainerLogError `InvalidOptions` if an option is not valid
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
      throw new ContainerLogError(
        'InvalidOptions',
        `sinceTime: must be an RFC 3339 time, got ${JSON.stringify(sinceTime)}`,
      );
    }
    times.push(parsed.timeMs);
  }
  return times.length === 0 ? undefined : Math.max(...times);
}
