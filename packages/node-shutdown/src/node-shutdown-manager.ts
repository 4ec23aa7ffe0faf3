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

/** What a {@link NodeShutdownManager} works with. */
export interface NodeShutdownComponents
  extends Partial<Pick<CommonPorts, 'clock' | 'logger' | 'metrics' | 'recorder'>> {
  /** `DbusLogind` of this package. */
  readonly logind: Logind;
  /** `SystemdInhibit` of this package. */
  readonly inhibitor: Inhibitor;
  readonly pods: ShutdownPods;
  readonly volumes: ShutdownVolumes;
  readonly fs: OverrideFiles & StateFiles;
  /** A shutdown has begun, or was cancelled: the node's status says another thing now. */
  readonly onShutdownChanged?: () => void;
}

/** How a {@link NodeShutdownManager} is set. */
export interface NodeShutdownOptions {
  /** What events about the machine refer to. */
  readonly nodeRef: ObjectReference;
  /** Of `gracePeriodsOf`, or of one's own, in any order; where there are none, nothing is watched, and the shutdown not delayed. */
  readonly gracePeriods: readonly PriorityGracePeriod[];
  /** Where the times of the last shutdown are kept: the kubelet's own directory. They are neither kept nor shown where absent. */
  readonly stateDirectory?: string;
}

/** Whether a pod may run: as kubelet-core's handlers say it. */
export type ShutdownAdmission =
  | { readonly admit: true }
  | { readonly admit: false; readonly reason: string; readonly message: string };

interface UnderWay extends Pick<LinkedAbort, 'abort'> {
  readonly done: Promise<void>;
}

/** `dbusReconnectPeriod` of upstream. */
const RECONNECT_MS = 1000;
/** A machine that has no logind will hardly get one; one that was slow, or busy booting, is not given up for it. */
const BEGIN_AGAIN_MS = 60_000;
const REFUSAL = {
  admit: false,
  reason: 'NodeShutdown',
  message: 'Pod was rejected as the node is shutting down.',
} as const;

/**
 * Delays the shutdown of the machine until its pods have ended, in the order of their priorities (KEP-2000, KEP-2712;
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
  /** A lock is asked for, beside what logind says. */
  #taking: UnderWay | undefined;
  #isShuttingDown = false;
  #underWay: UnderWay | undefined;
  #problem: string | undefined;
  /** A lock was held once, or a shutdown was told of: what is missing now will be back. */
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

  /** While the node shuts down, no pod may begin. */
  admit(): ShutdownAdmission {
    return this.#isShuttingDown ? REFUSAL : { admit: true };
  }

  /** Why the node is not ready: that it shuts down, where it does. */
  shutdownErrors(): readonly string[] {
    return this.#isShuttingDown ? ['node is shutting down'] : [];
  }

  /**
   * Watches until `signal` is aborted. Where that cannot begin, it is logged, and the node goes on without, as upstream's does; it is
   * tried again each minute, and each second where the bus was there and is lost. Never rejects.
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

  /** Begins a session, or logs why there is none. @throws the signal's reason */
  async #connect(signal: AbortSignal): Promise<void> {
    this.#session = undefined;
    try {
      await this.#begin(signal);
    } catch (err) {
      signal.throwIfAborted();
      this.#failed(err);
    }
  }

  /** Once for each problem: it is tried again and again. */
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
    // A lock that is lost from here on closes it.
    this.#session = session;
    try {
      // What was said while nobody listened.
      const isPreparing = await session.isPreparingForShutdown(signal);
      if (isPreparing !== this.#isShuttingDown) await this.#changed(isPreparing, signal);
      // logind gives none while it shuts down: the one that there is is held, or was given back when all pods had ended.
      if (this.#isShuttingDown) this.#watches();
      else this.#takeLock(session, signal);
    } catch (err) {
      session.close();
      this.#session = undefined;
      throw err;
    }
  }

  /** Until the session ends. */
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
      // Where there was no lock for it, that is what was told.
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
   * Sees to it that a lock holds for long enough, asks for one, and goes on meanwhile: who gives it may hang, and a shutdown that begins
   * then is not to wait for that.
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
          // Without a lock the session is of no use.
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

  /** A shutdown has begun since it was asked for, and who follows the session is told of it, or is about to be: logind says so first. */
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

  /** Ends the pods, and lets the machine go on, unless it was cancelled. Never rejects. */
  async #shutDown(cancelled: AbortSignal, signal: AbortSignal): Promise<void> {
    const { clock, logger, pods } = this.#components;
    logger.info({}, 'Shutdown manager processing shutdown event');
    const startMs = clock.now();
    // Nobody waits for a disk before pods are ended.
    const begun = this.#times?.set({ startMs, endMs: undefined });
    try {
      await this.#terminator.terminate(pods.active(), cancelled, signal);
    } catch (err) {
      logger.error({ err }, 'Shutdown manager failed to end the pods');
    }
    await begun;
    await this.#times?.set({ startMs, endMs: clock.now() });
    // The next shutdown may begin before logind gives another lock.
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
      this.#components.logger.error(
        {},
        'The lock that delays the shutdown of the machine is gone: another one is taken',
      );
      this.#session?.close();
    });
  }

  async #release(): Promise<void> {
    const lock = this.#lock;
    this.#lock = undefined;
    await lock?.release();
  }
}
