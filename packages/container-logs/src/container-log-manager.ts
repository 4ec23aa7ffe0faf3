import { basename, dirname, join } from 'node:path';
import { abortable, type Clock, checkComponents, checkOptions, StartOnce, sleep, untilNextMs } from '@node-agent/async';
import {
  type Container,
  ContainerState,
  CriError,
  type Init,
  type ListContainersRequest,
  type RuntimeService,
} from '@node-agent/cri-client';
import { isMissing } from '@node-agent/host';
import { LastingProblem, type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { Compressions } from './compressions.ts';
import { ContainerLogError } from './errors.ts';
import { type ContainerLog, LogRotator, type RotationFiles } from './rotate.ts';

export interface ContainerLogManagerComponents {
  readonly cri: Pick<RuntimeService, 'containerStatus' | 'reopenContainerLog'> & {
    /**
     * Lists containers. `listContainerStates` of cri-client has this type; `listContainers` has it, too, but costs
     * more.
     */
    listContainers(
      request: Init<ListContainersRequest>,
      signal?: AbortSignal,
    ): Promise<{ readonly containers: readonly Pick<Container, 'id' | 'state'>[] }>;
  };
  readonly fs: RotationFiles;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: no logging. */
  readonly logger?: Logger;
}

export interface ContainerLogManagerOptions {
  /**
   * Size from which a log is rotated. If negative, no log is rotated and no timer is set. Default: 10 MiB
   * (`containerLogMaxSize`).
   */
  readonly maxSizeBytes?: number;
  /** Largest number of files per log, including the current one; at least 2. Default: 5 (`containerLogMaxFiles`). */
  readonly maxFiles?: number;
  /**
   * Number of logs rotated at the same time; the same limit applies separately to compressions. Default: 1
   * (`containerLogMaxWorkers`).
   */
  readonly workers?: number;
  /** Interval of checking the sizes, in milliseconds. Default: 10,000 (`containerLogMonitorInterval`). */
  readonly monitorIntervalMs?: number;
}

/**
 * Keeps the logs of running containers within their limits (`pkg/kubelet/logs/container_log_manager.go`). A log exceeds
 * its limit at most by the output of one interval (N7), because compressions run separately and do not delay rotations.
 * A container's log path is requested only once.
 */
export class ContainerLogManager {
  readonly #components: WithDefaults<ContainerLogManagerComponents>;
  readonly #rotator: LogRotator;
  readonly #compressions: Compressions;
  #maxSizeBytes: number;
  readonly #workers: number;
  #monitorIntervalMs: number;
  #paths: ReadonlyMap<string, string> = new Map();
  /** Logs whose rotated files may not all be compressed, by path: left by an earlier process or a failed attempt. */
  readonly #owed = new Map<string, ContainerLog>();
  /** Paths of the logs in `#owed` whose compression has failed. */
  readonly #failing = new Set<string>();
  readonly #startOnce = new StartOnce('ContainerLogManager');
  /** Ends the wait of {@link start} for a size limit. */
  #onUpdate = (): void => {};

  /** @throws ContainerLogError `InvalidOptions` */
  constructor(given: ContainerLogManagerComponents, options: ContainerLogManagerOptions = {}) {
    const { maxSizeBytes, maxFiles, workers = 1, monitorIntervalMs } = checkedOptions(options);
    checkComponents('ContainerLogManager', given, {
      cri: ['containerStatus', 'reopenContainerLog', 'listContainers'],
      fs: ['open', 'readdir', 'remove', 'rename', 'exists', 'stat', 'removeAll', 'chmod'],
    });
    const components = withDefaults(given);
    this.#components = components;
    this.#rotator = new LogRotator(components, maxFiles);
    this.#compressions = new Compressions((log, signal) => this.#compress(log, signal), workers);
    this.#maxSizeBytes = maxSizeBytes;
    this.#workers = workers;
    this.#monitorIntervalMs = monitorIntervalMs;
  }

  /**
   * Changes the limits. The size and the number of files apply from the next check on, the interval after it. If logs
   * had no size limit and get one, they are checked immediately.
   * @param limits an absent limit gets its default
   * @throws ContainerLogError, OptionsError `InvalidOptions`; nothing is changed then
   */
  update(limits: Omit<ContainerLogManagerOptions, 'workers'>): void {
    const { maxSizeBytes, maxFiles, monitorIntervalMs } = checkedOptions(limits);
    this.#maxSizeBytes = maxSizeBytes;
    this.#monitorIntervalMs = monitorIntervalMs;
    this.#rotator.maxFiles = maxFiles;
    this.#onUpdate();
  }

  /**
   * Checks all logs at each interval until `signal` is aborted and no compression is in progress. While `maxSizeBytes`
   * is negative, nothing is rotated and no timer is set.
   */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const { clock, logger } = this.#components;
    const problem = new LastingProblem(logger, {
      ...{ failed: 'Failed to rotate container logs', level: 'error' },
      over: 'Container logs are rotated again',
    });
    try {
      while (!signal.aborted) {
        await this.#untilLimited(signal);
        const startedAtMs = clock.monotonic();
        await this.rotateLogs(signal).then(
          () => problem.over(),
          (err: unknown) => {
            if (!signal.aborted) problem.failed(err);
          },
        );
        // The interval is measured between the starts of passes, so that the duration of a pass does not add to it.
        // Starts are aligned to whole multiples of the interval, like other periodic work.
        const nextAtMs = startedAtMs + untilNextMs(startedAtMs, this.#monitorIntervalMs);
        await sleep(clock, Math.max(nextAtMs - clock.monotonic(), 0), signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await this.#compressions.ended();
    }
  }

  /** Resolves when logs have a size limit. @throws the signal's reason */
  async #untilLimited(signal: AbortSignal): Promise<void> {
    while (this.#maxSizeBytes < 0) {
      const updated = Promise.withResolvers<void>();
      this.#onUpdate = updated.resolve;
      await abortable(updated.promise, signal);
    }
  }

  /**
   * Rotates every log that has reached its limit and queues the compression of its older files; {@link compressed}
   * waits for that. A failure with one container is logged and tried again in the next pass, including the compression.
   * If `maxSizeBytes` is negative, nothing is rotated.
   * @param signal also cancels the compression
   * @throws if the containers cannot be listed
   */
  async rotateLogs(signal: AbortSignal): Promise<void> {
    if (this.#maxSizeBytes < 0) return;
    const logs = await this.#runningLogs(signal);
    await this.#forEach(logs, signal, async (log) => {
      if ((await this.#rotator.size(log, signal)) < this.#maxSizeBytes) return;
      await this.#rotator.rotate(log, signal);
      this.#owed.set(log.path, log);
    });
    for (const log of this.#owed.values()) this.#compressions.add(log, signal);
  }

  /** Resolves when no rotated file is waiting for compression. */
  async compressed(): Promise<void> {
    await this.#compressions.ended();
  }

  /**
   * Removes all logs of a container, including rotated ones.
   * @throws CriError if the runtime does not know the container's log
   * @throws file system errors
   */
  async clean(containerId: string, signal: AbortSignal): Promise<void> {
    const { fs } = this.#components;
    const path = await this.#logPath(containerId, signal);
    if (path === undefined) return;
    const directory = dirname(path);
    const base = basename(path);
    const entries = await fs.readdir(directory).catch((error: unknown) => {
      if (isMissing(error)) return [];
      throw error;
    });
    for (const { name } of entries) {
      if (name !== base && !name.startsWith(`${base}.`)) continue;
      await this.#rotator.remove(join(directory, name));
    }
  }

  /**
   * Returns the logs of running containers. Other containers write no more, and their last lines stay where readers
   * expect them.
   */
  async #runningLogs(signal: AbortSignal): Promise<readonly ContainerLog[]> {
    const state = { state: ContainerState.CONTAINER_RUNNING };
    const { containers } = await this.#components.cri.listContainers({ filter: { state } }, signal);
    const running = containers.filter((container) => container.state === ContainerState.CONTAINER_RUNNING);
    const paths = new Map<string, string>();
    await this.#forEach(
      running.map(({ id }) => ({ containerId: id, path: '' })),
      signal,
      async ({ containerId }) => {
        const path = this.#paths.get(containerId) ?? (await this.#logPath(containerId, signal));
        if (!path) return;
        paths.set(containerId, path);
        if (!this.#paths.has(containerId)) this.#owed.set(path, { containerId, path });
      },
    );
    this.#paths = paths;
    return Array.from(paths, ([containerId, path]) => ({ containerId, path }));
  }

  async #logPath(containerId: string, signal: AbortSignal): Promise<string | undefined> {
    const { status } = await this.#components.cri.containerStatus({ containerId }, signal);
    return status?.logPath || undefined;
  }

  async #compress(log: ContainerLog, signal: AbortSignal): Promise<void> {
    // A rotation during the compression marks the log as due again.
    this.#owed.delete(log.path);
    try {
      await this.#rotator.compress(log, signal);
    } catch (err) {
      if (signal.aborted) return;
      if (!isMissing(err)) {
        this.#owed.set(log.path, log);
        // A repeated failure, for example on a full disk, is logged once instead of once per interval.
        if (this.#failing.has(log.path)) return;
        this.#failing.add(log.path);
        this.#components.logger.error({ ...log, err }, 'Failed to compress rotated logs of container');
        return;
      }
    }
    this.#failing.delete(log.path);
  }

  /**
   * Runs `work` for all logs, with at most `workers` at the same time. A container that no longer exists is not a
   * failure.
   */
  async #forEach(
    logs: readonly ContainerLog[],
    signal: AbortSignal,
    work: (log: ContainerLog) => Promise<void>,
  ): Promise<void> {
    const queue = logs.values();
    const worker = async (): Promise<void> => {
      for (const log of queue) {
        if (signal.aborted) return;
        await work(log).catch((err: unknown) => {
          if (signal.aborted || CriError.from(err).code === 'NOT_FOUND') return;
          this.#components.logger.error({ ...log, err }, 'Failed to rotate log for container');
        });
      }
    };
    await Promise.all(Array.from({ length: this.#workers }, worker));
  }
}

/** Validates the options and fills in defaults. @throws ContainerLogError, OptionsError `InvalidOptions` */
function checkedOptions(
  options: ContainerLogManagerOptions,
): ContainerLogManagerOptions & Required<Omit<ContainerLogManagerOptions, 'workers'>> {
  checkOptions('ContainerLogManager', options, {
    maxSizeBytes: 'whole?',
    maxFiles: 'limit?',
    workers: 'limit?',
    monitorIntervalMs: 'positive?',
  });
  const { maxSizeBytes = 10 * 2 ** 20, maxFiles = 5, monitorIntervalMs = 10_000 } = options;
  if (maxFiles <= 1) throw new ContainerLogError('InvalidOptions', `invalid MaxFiles ${maxFiles}, must be > 1`);
  return { ...options, maxSizeBytes, maxFiles, monitorIntervalMs };
}
