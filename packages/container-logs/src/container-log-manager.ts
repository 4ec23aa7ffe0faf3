import { basename, dirname, join } from 'node:path';
import { type Clock, checkComponents, checkOptions, StartOnce, sleep, untilNextMs } from '@node-agent/async';
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
    /** `listContainerStates` of cri-client is one; `listContainers` does as well, and costs more. */
    listContainers(
      request: Init<ListContainersRequest>,
      signal?: AbortSignal,
    ): Promise<{ readonly containers: readonly Pick<Container, 'id' | 'state'>[] }>;
  };
  readonly fs: RotationFiles;
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** Silent where absent. */
  readonly logger?: Logger;
}

export interface ContainerLogManagerOptions {
  /** From which size on a log is rotated. Below 0: never, and `start` resolves at once. Default: 10 MiB (`containerLogMaxSize`). */
  readonly maxSizeBytes?: number;
  /** How many files a log may have, the current one among them; 2 at least. Default: 5 (`containerLogMaxFiles`). */
  readonly maxFiles?: number;
  /** How many logs are rotated at once, and how many are compressed at once beside that. Default: 1 (`containerLogMaxWorkers`). */
  readonly workers?: number;
  /** How often sizes are looked at. Default: 10,000 (`containerLogMonitorInterval`). */
  readonly monitorIntervalMs?: number;
}

/**
 * Keeps the logs of running containers within their bounds (`pkg/kubelet/logs/container_log_manager.go`). A log passes
 * its limit by no more than what is written to it in one interval (N7): compressing goes on beside, and holds up no
 * rotation. A container's log path is asked for once.
 */
export class ContainerLogManager {
  readonly #components: WithDefaults<ContainerLogManagerComponents>;
  readonly #rotator: LogRotator;
  readonly #compressions: Compressions;
  readonly #maxSizeBytes: number;
  readonly #workers: number;
  readonly #monitorIntervalMs: number;
  #paths: ReadonlyMap<string, string> = new Map();
  /** Logs whose rotated files may not all be compressed, by path: an earlier process, or an attempt that failed, left them. */
  readonly #owed = new Map<string, ContainerLog>();
  /** Of those, the paths of logs that an attempt failed for. */
  readonly #failing = new Set<string>();
  readonly #startOnce = new StartOnce('ContainerLogManager');

  /** @throws ContainerLogError `InvalidOptions` */
  constructor(given: ContainerLogManagerComponents, options: ContainerLogManagerOptions = {}) {
    checkOptions('ContainerLogManager', options, {
      maxSizeBytes: 'whole?',
      maxFiles: 'limit?',
      workers: 'limit?',
      monitorIntervalMs: 'positive?',
    });
    checkComponents('ContainerLogManager', given, {
      cri: ['containerStatus', 'reopenContainerLog', 'listContainers'],
      fs: ['open', 'readdir', 'remove', 'rename', 'exists', 'stat', 'removeAll', 'chmod'],
    });
    const components = withDefaults(given);
    const { maxSizeBytes = 10 * 2 ** 20, maxFiles = 5, workers = 1, monitorIntervalMs = 10_000 } = options;
    if (maxFiles <= 1) throw new ContainerLogError('InvalidOptions', `invalid MaxFiles ${maxFiles}, must be > 1`);
    this.#components = components;
    this.#rotator = new LogRotator(components, maxFiles);
    this.#compressions = new Compressions((log, signal) => this.#compress(log, signal), workers);
    this.#maxSizeBytes = maxSizeBytes;
    this.#workers = workers;
    this.#monitorIntervalMs = monitorIntervalMs;
  }

  /**
   * Looks at all logs every interval, until `signal` is aborted and nothing is compressed any more; with a `maxSizeBytes` below 0 there is
   * nothing to look at, and it resolves at once.
   */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    if (this.#maxSizeBytes < 0) return;
    const { clock, logger } = this.#components;
    const problem = new LastingProblem(logger, {
      ...{ failed: 'Failed to rotate container logs', level: 'error' },
      over: 'Container logs are rotated again',
    });
    try {
      while (!signal.aborted) {
        const startedAtMs = clock.monotonic();
        await this.rotateLogs(signal).then(
          () => problem.over(),
          (err: unknown) => {
            if (!signal.aborted) problem.failed(err);
          },
        );
        // From start to start: what a pass takes does not add to the interval. At its whole multiples, as others have theirs.
        const nextAtMs = startedAtMs + untilNextMs(startedAtMs, this.#monitorIntervalMs);
        await sleep(clock, Math.max(nextAtMs - clock.monotonic(), 0), signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await this.#compressions.ended();
    }
  }

  /**
   * Rotates every log that is due now, and lets their older files be compressed: {@link compressed} waits for that. What fails with one
   * container is logged, and tried again next time, compressing too. With a `maxSizeBytes` below 0 none is ever due.
   * @param signal ends the compressing, too
   * @throws where the containers could not be listed
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

  /** Resolves when nothing that was rotated is still to be compressed. */
  async compressed(): Promise<void> {
    await this.#compressions.ended();
  }

  /**
   * Removes all logs of a container, the rotated ones too.
   * @throws CriError where the runtime does not know its log; what the file system throws
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

  /** Logs of containers that run: others write no more, and keep their last lines where readers look for them. */
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
    // A rotation while this runs makes the log due again.
    this.#owed.delete(log.path);
    try {
      await this.#rotator.compress(log, signal);
    } catch (err) {
      if (signal.aborted) return;
      if (!isMissing(err)) {
        this.#owed.set(log.path, log);
        // One line for a disk that stays full, not one for each interval.
        if (this.#failing.has(log.path)) return;
        this.#failing.add(log.path);
        this.#components.logger.error({ ...log, err }, 'Failed to compress rotated logs of container');
        return;
      }
    }
    this.#failing.delete(log.path);
  }

  /** Does it for all, as many at once as there are workers; a container that is gone is no failure. */
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
