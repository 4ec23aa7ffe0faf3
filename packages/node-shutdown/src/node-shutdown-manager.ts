import { checkComponents, checkOptions, type LinkedAbort, linkAbort, StartOnce, sleep } from '@node-agent/async';
import {
  type CommonPorts,
  errorText,
  eventReasons,
  type ObjectReference,
  type WithDefaults,
  withDefaults,
} from '@node-agent/telemetry';
import type { OverrideFiles } from './delay-override.ts';
import { type PriorityGracePeriod, periodRequestedMs } from './grace-periods.ts';
import { ensureInhibitDelay } from './inhibit-delay.ts';
import type { Inhibitor, InhibitorLock, Logind, LogindSession } from './logind.ts';
import { PodTerminator } from './pod-terminator.ts';
import type { ShutdownPods, ShutdownVolumes } from './ports.ts';
import { ShutdownTimesRecord } from './shutdown-times.ts';
import type { StateFiles } from './state-file.ts';

/** Dependencies of a {@link NodeShutdownManager}. */
export interface NodeShutdownComponents
  extends Partial<Pick<CommonPorts, 'clock' | 'logger' | 'metrics' | 'recorder'>> {
  /** logind, for example a `DbusLogind` of this package. */
  readonly logind: Logind;
  /** Takes inhibitor locks, for example a `SystemdInhibit` of this package. */
  readonly inhibitor: Inhibitor;
  readonly pods: ShutdownPods;
  readonly volumes: ShutdownVolumes;
  readonly fs: OverrideFiles & StateFiles;
  /** Called when a shutdown has begun or was cancelled, because the node's status changes. */
  readonly onShutdownChanged?: () => void;
}

/** Options of a {@link NodeShutdownManager}. */
export interface NodeShutdownOptions {
  /** Object reference of the node, for events about the machine's shutdown. */
  readonly nodeRef: ObjectReference;
  /**
   * Grace periods, for example from `gracePeriodsOf`, in any order. If empty, the shutdown is neither watched nor
   * delayed.
   */
  readonly gracePeriods: readonly PriorityGracePeriod[];
  /**
   * Directory for the times of the last shutdown: the kubelet's root directory. If absent, the times are neither stored
   * nor loaded.
   */
  readonly stateDirectory?: string;
}

/** Result of the admission of a pod, compatible with the admit handlers of kubelet-core. */
export type ShutdownAdmission =
  | { readonly admit: true }
  | { readonly admit: false; readonly reason: string; readonly message: string };

interface UnderWay extends Pick<LinkedAbort, 'abort'> {
  readonly done: Promise<void>;
}

/** Delay before the connection to logind is opened again, in milliseconds (upstream: `dbusReconnectPeriod`). */
const RECONNECT_MS = 1000;
/**
 * Retry period if watching has never succeeded, in milliseconds. A machine without logind rarely gets one, but logind
 * may be slow during boot.
 */
const BEGIN_AGAIN_MS = 60_000;
const REFUSAL = {
  admit: false,
  reason: 'NodeShutdown',
  message: 'Pod was rejected as the node is shutting down.',
} as const;

/**
 * Delays the shutdown of the machine until its pods have terminated, in order of priority (KEP-2000, KEP-2712;
 * `pkg/kubelet/nodeshutdown/nodeshutdown_manager_linux.go`). Metrics: `kubelet_graceful_shutdown_start_time_seconds`,
 * `kubelet_graceful_shutdown_end_time_seconds`. Event: `Shutdown` of the node.
 */
export class NodeShutdownManager {
  readonly #components: WithDefaults<
    NodeShutdownComponents & Pick<CommonPorts, 'clock' | 'logger' | 'metrics' | 'recorder'>
  >;
  readonly #options: NodeShutdownOptions;
  readonly #terminator: PodTerminator;
  readonly #times: ShutdownTimesRecord | undefined;
  #session: LogindSession | undefined;
  #lock: InhibitorLock | undefined;
  /** Lock request in progress. The request runs independently of logind's signals. */
  #taking: UnderWay | undefined;
  #isShuttingDown = false;
  #underWay: UnderWay | undefined;
  #problem: string | undefined;
  /**
   * Whether a lock was ever held or a shutdown was ever signalled. If so, a lost connection is reopened after a short
   * delay.
   */
  #everWatched = false;
  readonly #startOnce = new StartOnce('NodeShutdownManager');

  constructor(components: NodeShutdownComponents, options: NodeShutdownOptions) {
    checkOptions('NodeShutdownManager', options, {
      nodeRef: 'object',
      gracePeriods: 'list',
      stateDirectory: 'string?',
    });
    checkComponents('NodeShutdownManager', components, {
      logind: ['connect'],
      inhibitor: ['acquire'],
      pods: ['active', 'kill'],
      volumes: ['podVolumesExist'],
      fs: ['mkdir', 'writeFileAtomic', 'open'],
    });
    this.#components = withDefaults({
      clock: undefined,
      logger: undefined,
      metrics: undefined,
      recorder: undefined,
      ...components,
    });
    this.#options = options;
    this.#terminator = new PodTerminator(this.#components, options.gracePeriods);
    const { stateDirectory } = options;
    this.#times = stateDirectory === undefined ? undefined : new ShutdownTimesRecord(this.#components, stateDirectory);
  }

  /** Rejects all pods while the node is shutting down. */
  admit(): ShutdownAdmission {
    return this.#isShuttingDown ? REFUSAL : { admit: true };
  }

  /** Returns the reasons for which the node is not ready: one entry while a shutdown is in progress, otherwise none. */
  shutdownErrors(): readonly string[] {
    return this.#isShuttingDown ? ['node is shutting down'] : [];
  }

  /**
   * Watches for shutdowns until `signal` is aborted. If watching cannot start, the failure is logged and the node
   * continues without graceful shutdown, as in upstream. The start is retried each minute, or each second if watching
   * had succeeded before. The promise never rejects.
   */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const { clock, logger } = this.#components;
    const { gracePeriods } = this.#options;
    if (gracePeriods.length === 0) return;
    logger.info({ shutdownGracePeriodByPodPriority: gracePeriods }, 'Creating node shutdown manager');
    await this.#times?.load();
    try {
      await this.#connect(signal);
      while (!signal.aborted) {
        if (this.#session !== undefined) await this.#follow(this.#session, signal);
        await sleep(clock, this.#everWatched ? RECONNECT_MS : BEGIN_AGAIN_MS, signal);
        await this.#connect(signal);
      }
    } catch (err) {
      if (!signal.aborted) throw err;
    } finally {
      this.#session?.close();
      await this.#taking?.done;
      this.#underWay?.abort(signal.reason);
      await this.#underWay?.done;
      await this.#release();
    }
  }

  /** Starts a session with logind, or logs why that failed. @throws the signal's reason */
  async #connect(signal: AbortSignal): Promise<void> {
    this.#session = undefined;
    try {
      await this.#begin(signal);
    } catch (err) {
      signal.throwIfAborted();
      this.#failed(err);
    }
  }

  /** Logs a problem, unless it is the same as the last logged one. */
  #failed(err: unknown): void {
    const problem = errorText(err);
    if (problem === this.#problem) return;
    this.#problem = problem;
    const failure = this.#everWatched
      ? 'Unable to watch the node for shutdown events'
      : 'Failed to start node shutdown manager';
    this.#components.logger.error({ err }, failure);
  }

  #watches(): void {
    this.#problem = undefined;
    this.#everWatched = true;
    this.#components.logger.info({}, 'Watching the node for shutdown events');
  }

  async #begin(signal: AbortSignal): Promise<void> {
    const { logind } = this.#components;
    const session = await logind.connect(signal);
    // The session is stored before a lock is requested, because the loss of a lock closes the stored session.
    this.#session = session;
    try {
      // The shutdown may have begun before the session received signals.
      const isPreparing = await session.isPreparingForShutdown(signal);
      if (isPreparing !== this.#isShuttingDown) await this.#changed(isPreparing, signal);
      // During a shutdown, logind grants no lock. The existing lock is still held, or was released when all pods had
      // terminated.
      if (this.#isShuttingDown) this.#watches();
      else this.#takeLock(session, signal);
    } catch (err) {
      session.close();
      this.#session = undefined;
      throw err;
    }
  }

  /** Processes the session's signals until it ends. */
  async #follow(session: LogindSession, signal: AbortSignal): Promise<void> {
    const { logger } = this.#components;
    const close = (): void => session.close();
    signal.addEventListener('abort', close, { once: true });
    if (signal.aborted) close();
    try {
      for await (const isShuttingDown of session.shutdowns) {
        if (signal.aborted) break;
        if (isShuttingDown) this.#taking?.abort(new Error('the machine shuts down'));
        await this.#changed(isShuttingDown, signal);
        if (!isShuttingDown && this.#lock === undefined) this.#takeLock(session, signal);
      }
      // A failed lock request was already logged.
      if (!signal.aborted && this.#problem === undefined) {
        logger.error({}, 'Ended to watching the node for shutdown events');
      }
    } catch (err) {
      if (!signal.aborted) this.#failed(err);
      close();
    } finally {
      signal.removeEventListener('abort', close);
      const taking = this.#taking;
      taking?.abort(new Error('the session has ended'));
      await taking?.done;
    }
  }

  /**
   * Ensures a sufficient delay and requests a lock in the background. The request may hang, and a shutdown that begins
   * in the meantime must not wait for it.
   */
  #takeLock(session: LogindSession, signal: AbortSignal): void {
    if (this.#taking !== undefined) return;
    const link = linkAbort(signal);
    const taking: UnderWay = {
      abort: (reason) => {
        link.abort(reason);
        if (this.#taking === taking) this.#taking = undefined;
      },
      done: this.#acquire(session, link.signal)
        .catch(async (err: unknown) => {
          if (link.signal.aborted || (await this.#isRefusedForShutdown(session, link.signal))) return;
          // Without a lock, the session cannot delay a shutdown, so it is closed.
          this.#failed(err);
          session.close();
        })
        .finally(() => {
          link[Symbol.dispose]();
          if (this.#taking === taking) this.#taking = undefined;
        }),
    };
    this.#taking = taking;
  }

  /**
   * Reports whether a lock was refused because a shutdown has begun. In that case, logind has signalled the shutdown
   * first, so the session's reader handles it.
   */
  async #isRefusedForShutdown(session: LogindSession, signal: AbortSignal): Promise<boolean> {
    const isPreparing = await session.isPreparingForShutdown(signal).catch(() => false);
    return isPreparing || signal.aborted;
  }

  async #changed(isShuttingDown: boolean, signal: AbortSignal): Promise<void> {
    const { logger, recorder, onShutdownChanged } = this.#components;
    const event = isShuttingDown ? 'shutdown' : 'cancelled';
    logger.info({ event }, 'Shutdown manager detected new shutdown event');
    const what = isShuttingDown ? 'shutdown event' : 'shutdown cancellation';
    recorder.event(this.#options.nodeRef, 'Normal', eventReasons.nodeShutdown, `Shutdown manager detected ${what}`);
    this.#isShuttingDown = isShuttingDown;
    this.#everWatched = true;
    onShutdownChanged?.();
    if (!isShuttingDown) {
      this.#underWay?.abort(new Error('the shutdown was cancelled'));
      await this.#underWay?.done;
    } else if (this.#underWay === undefined) {
      const cancelled = linkAbort(signal);
      const done = this.#shutDown(cancelled.signal, signal).finally(() => {
        cancelled[Symbol.dispose]();
        this.#underWay = undefined;
      });
      this.#underWay = { abort: (reason) => cancelled.abort(reason), done };
    }
  }

  /** Terminates the pods and then releases the lock, unless the shutdown was cancelled. Never rejects. */
  async #shutDown(cancelled: AbortSignal, signal: AbortSignal): Promise<void> {
    const { clock, logger, pods } = this.#components;
    logger.info({}, 'Shutdown manager processing shutdown event');
    const startMs = clock.now();
    // The times are stored while the pods are terminated, because the termination must not wait for the disk.
    const begun = this.#times?.set({ startMs, endMs: undefined });
    try {
      await this.#terminator.terminate(pods.active(), cancelled, signal);
    } catch (err) {
      logger.error({ err }, 'Shutdown manager failed to terminate the pods');
    }
    await begun;
    await this.#times?.set({ startMs, endMs: clock.now() });
    // After a cancellation, the lock is kept, because the next shutdown may begin before logind grants another lock.
    if (cancelled.aborted && !signal.aborted) return;
    await this.#release();
    logger.info({}, 'Shutdown manager completed processing shutdown event, node will shutdown shortly');
  }

  async #acquire(session: LogindSession, signal: AbortSignal): Promise<void> {
    await ensureInhibitDelay(this.#components, session, periodRequestedMs(this.#options.gracePeriods), signal);
    const before = this.#lock;
    const lock = await this.#components.inhibitor.acquire(signal);
    if (signal.aborted) {
      await lock.release();
      signal.throwIfAborted();
    }
    this.#lock = lock;
    this.#watches();
    await before?.release();
    void lock.ended.then(() => {
      if (this.#lock !== lock) return;
      this.#lock = undefined;
      this.#components.logger.error({}, 'Lost the lock that delays the shutdown of the machine, taking another one');
      this.#session?.close();
    });
  }

  async #release(): Promise<void> {
    const lock = this.#lock;
    this.#lock = undefined;
    await lock?.release();
  }
}
