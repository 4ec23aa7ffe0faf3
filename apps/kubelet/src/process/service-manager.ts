import { type Clock, every, sleep } from '@node-agent/async';
import type { ProgramRun } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';
import type { Notifier } from './notifier.ts';

/** Lower bound of the watchdog timeout, as upstream (`pkg/kubelet/watchdog`). */
const LEAST_WATCHDOG_MS = 1000;
/** Delay before a failed notification is retried, and the number of tries per watchdog period. */
const RETRY_MS = 1000;
const TRIES = 2;
/** Maximum delay between two tries to send `READY=1`. */
const READY_RETRY_MS = 10_000;

type Environment = ProgramRun['environment'];

/** Components of {@link ServiceManager}. */
interface ServiceManagerComponents {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly environment: Environment;
  /** Sends the messages to systemd. */
  readonly notifier: Pick<Notifier, 'prepare' | 'send'>;
}

/**
 * Returns systemd's watchdog timeout (`WatchdogSec=`) in milliseconds, or `undefined` if systemd does not watch this
 * process (`SdWatchdogEnabled` of go-systemd).
 * @throws Error if the timeout is not a positive number or is too short
 */
export function watchdogMs({ WATCHDOG_USEC, WATCHDOG_PID }: Environment, pid: number): number | undefined {
  if (!WATCHDOG_USEC) return undefined;
  if (!/^\d+$/.test(WATCHDOG_USEC) || Number(WATCHDOG_USEC) === 0) {
    throw new Error(
      `configure watchdog: WATCHDOG_USEC must be a positive number, not ${JSON.stringify(WATCHDOG_USEC)}`,
    );
  }
  if (WATCHDOG_PID && Number(WATCHDOG_PID) !== pid) return undefined;
  const ms = Number(WATCHDOG_USEC) / 1000;
  if (ms <= LEAST_WATCHDOG_MS) throw new Error(`configure watchdog timeout too small: ${ms} ms`);
  return ms;
}

/**
 * Notifies systemd that the kubelet is ready, for units of `Type=notify`, and alive, for units with `WatchdogSec=`
 * (`cmd/kubelet/app/server.go`, `pkg/kubelet/watchdog`). `systemd-notify` sends in the name of this process, which
 * requires root or `NotifyAccess=all` in the unit.
 */
export class ServiceManager {
  readonly #components: ServiceManagerComponents;
  readonly #watchdogMs: number | undefined;

  /** @throws Error if the watchdog timeout is invalid; then the kubelet does not start, as upstream */
  constructor(components: ServiceManagerComponents, { pid }: { readonly pid: number }) {
    this.#components = components;
    this.#watchdogMs = watchdogMs(components.environment, pid);
  }

  /** Whether systemd's watchdog watches this process. */
  get isWatched(): boolean {
    return this.#watchdogMs !== undefined;
  }

  /**
   * Starts the notifier's processes early, before the machine may run out of process IDs. Does nothing if systemd
   * expects no messages.
   */
  async prepare(signal: AbortSignal): Promise<void> {
    const { environment, notifier } = this.#components;
    if (environment.NOTIFY_SOCKET) await notifier.prepare(signal);
  }

  /**
   * Notifies systemd that the kubelet is ready. Retries until the message was sent, because systemd stops a service
   * that does not report readiness. Does nothing if systemd expects no messages.
   */
  async ready(signal: AbortSignal): Promise<void> {
    const { environment, logger, notifier, clock } = this.#components;
    if (!environment.NOTIFY_SOCKET) return;
    for (let tries = 1; !signal.aborted; tries++) {
      try {
        await notifier.send('READY=1', signal);
        if (tries > 1) logger.info({ tries }, 'Notified the service manager that the kubelet is ready');
        return;
      } catch (err) {
        if (signal.aborted) return;
        if (tries === 1)
          logger.error({ err }, 'Failed to notify the service manager that the kubelet is ready, retrying');
        await sleep(clock, Math.min(RETRY_MS * 2 ** (tries - 1), READY_RETRY_MS), signal).catch(() => {});
      }
    }
  }

  /**
   * Notifies the watchdog at half its timeout while the kubelet is healthy, until `signal` is aborted.
   * @param problem returns the kubelet's problem, or `undefined` if healthy
   */
  async watch(problem: () => string | undefined, signal: AbortSignal): Promise<void> {
    const { clock } = this.#components;
    if (this.#watchdogMs === undefined) return;
    await every(clock, this.#watchdogMs / 2, () => this.#sign(problem, signal), signal);
  }

  async #sign(problem: () => string | undefined, signal: AbortSignal): Promise<void> {
    const { clock, logger, notifier } = this.#components;
    const wrong = problem();
    if (wrong !== undefined) {
      logger.error(
        { problem: wrong },
        'Do not notify watchdog this iteration as the kubelet is reportedly not healthy',
      );
      return;
    }
    for (let tried = 1; !signal.aborted; tried++) {
      try {
        return await notifier.send('WATCHDOG=1', signal);
      } catch (err) {
        if (signal.aborted) return;
        if (tried === TRIES) return logger.error({ err }, 'Failed to notify watchdog');
        await sleep(clock, RETRY_MS, signal).catch(() => {});
      }
    }
  }
}
