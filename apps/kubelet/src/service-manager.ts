import { type Clock, every, sleep } from '@node-agent/async';
import type { ProgramRun } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';
import type { Notifier } from './notifier.ts';

/** Upstream takes no shorter one (`pkg/kubelet/watchdog`). */
const LEAST_WATCHDOG_MS = 1000;
/** How long after a try that failed the next is made, and how many there are in a period. */
const RETRY_MS = 1000;
const TRIES = 2;
/** The longest pause between two tries to tell that the kubelet is up. */
const READY_RETRY_MS = 10_000;

type Environment = ProgramRun['environment'];

/** What a {@link ServiceManager} works with. */
interface ServiceManagerComponents {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly environment: Environment;
  /** Sends the messages. */
  readonly notifier: Pick<Notifier, 'prepare' | 'send'>;
}

/**
 * How long systemd waits for a sign of life before it kills the service (`WatchdogSec=`), in milliseconds; `undefined` where it does not, or
 * waits for another process (`SdWatchdogEnabled` of go-systemd).
 * @throws Error where that is no such time, or too short a one
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
 * Tells systemd that the kubelet is up, for units of `Type=notify`, and that it is alive, for those with `WatchdogSec=`
 * (`cmd/kubelet/app/server.go`, `pkg/kubelet/watchdog`). `systemd-notify` sends in this process's name: for that it has to be root's, or the
 * unit's `NotifyAccess=` has to be `all`.
 */
export class ServiceManager {
  readonly #components: ServiceManagerComponents;
  readonly #watchdogMs: number | undefined;

  /** @throws Error for a watchdog's time that is none: the kubelet does not start then, as upstream's */
  constructor(components: ServiceManagerComponents, { pid }: { readonly pid: number }) {
    this.#components = components;
    this.#watchdogMs = watchdogMs(components.environment, pid);
  }

  /** Whether systemd waits for signs of life. */
  get isWatched(): boolean {
    return this.#watchdogMs !== undefined;
  }

  /** Gets ready to send, before the machine may run out of processes. Nothing is done if systemd waits for no message. */
  async prepare(signal: AbortSignal): Promise<void> {
    const { environment, notifier } = this.#components;
    if (environment.NOTIFY_SOCKET) await notifier.prepare(signal);
  }

  /**
   * Tells systemd that all of the kubelet was started, again and again until that was sent: systemd ends a service that does not say so. Nothing
   * is done if systemd waits for no message.
   */
  async ready(signal: AbortSignal): Promise<void> {
    const { environment, logger, notifier, clock } = this.#components;
    if (!environment.NOTIFY_SOCKET) return;
    for (let tries = 1; !signal.aborted; tries++) {
      try {
        await notifier.send('READY=1', signal);
        if (tries > 1) logger.info({ tries }, 'Told the service manager that the kubelet is up');
        return;
      } catch (err) {
        if (signal.aborted) return;
        if (tries === 1)
          logger.error({ err }, 'Failed to tell the service manager that the kubelet is up, trying again');
        await sleep(clock, Math.min(RETRY_MS * 2 ** (tries - 1), READY_RETRY_MS), signal).catch(() => {});
      }
    }
  }

  /**
   * Gives a sign of life each half of the time, where the kubelet is well, until `signal` is aborted.
   * @param problem what is wrong with it, if anything
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
