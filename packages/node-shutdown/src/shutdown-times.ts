import { type Clock, withTimeout } from '@node-agent/async';
import type { Gauge, Logger, Metrics } from '@node-agent/telemetry';
import { type ShutdownTimes, StateFile, type StateFiles } from './state-file.ts';

interface Components {
  readonly fs: StateFiles;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * Timeout of file operations in milliseconds. A disk that hangs must neither prevent watching nor use up the grace
 * periods of a shutdown.
 */
const TIMEOUT_MS = 5_000;

/**
 * Start and end time of the last shutdown. The times are stored in a file, so that a restart does not reset the metrics
 * that show them.
 */
export class ShutdownTimesRecord {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #file: StateFile;
  readonly #start: Gauge;
  readonly #end: Gauge;

  constructor({ fs, clock, logger, metrics }: Components, directory: string) {
    this.#clock = clock;
    this.#logger = logger;
    this.#file = new StateFile(fs, directory);
    this.#start = metrics.gauge({
      name: 'kubelet_graceful_shutdown_start_time_seconds',
      help: 'Last graceful shutdown start time since unix epoch in seconds',
    });
    this.#end = metrics.gauge({
      name: 'kubelet_graceful_shutdown_end_time_seconds',
      help: 'Last graceful shutdown end time since unix epoch in seconds',
    });
    this.#show({ startMs: undefined, endMs: undefined });
  }

  /** Loads the stored times and shows them in the metrics. A failure is logged. */
  async load(): Promise<void> {
    try {
      this.#show(await withTimeout(this.#clock, TIMEOUT_MS, () => this.#file.load()));
    } catch (err) {
      this.#logger.error({ err }, 'Failed to load graceful shutdown state');
    }
  }

  /** Shows the times in the metrics and stores them in the file. A failure is logged. */
  async set(times: ShutdownTimes): Promise<void> {
    this.#show(times);
    try {
      await withTimeout(this.#clock, TIMEOUT_MS, () => this.#file.store(times));
    } catch (err) {
      this.#logger.error({ err }, 'Failed to store graceful shutdown state');
    }
  }

  #show({ startMs = 0, endMs = 0 }: ShutdownTimes): void {
    this.#start.set({}, Math.floor(startMs / 1000));
    this.#end.set({}, Math.floor(endMs / 1000));
  }
}
