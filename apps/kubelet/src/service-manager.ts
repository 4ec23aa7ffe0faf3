import { type Clock, every, sleep, withTimeout } from '@node-agent/async';
import { type ProgramResult, type ProgramRun, runProgram } from '@node-agent/host';
import { errorText, type Logger } from '@node-agent/telemetry';

/** Upstream takes no shorter one (`pkg/kubelet/watchdog`). */
const LEAST_WATCHDOG_MS = 1000;
/** How long after a try that failed the next is made, and how many there are in a period. */
const RETRY_MS = 1000;
const TRIES = 2;
const ANSWER_MS = 10_000;

type Environment = ProgramRun['environment'];

/** What a {@link ServiceManager} works with. */
interface ServiceManagerComponents {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly environment: Environment;
  /** A child process where absent. */
  readonly run?: (program: ProgramRun, signal?: AbortSignal) => Promise<ProgramResult>;
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
 * (`cmd/kubelet/app/server.go`, `pkg/kubelet/watchdog`). Node.js has no sockets of datagrams, so `systemd-notify` does it, in this process's name:
 * for that it has to be root's, or the unit's `NotifyAccess=` has to be `all`.
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

  /** All of it was started. Nothing is done where nobody asked to be told. */
  async ready(signal: AbortSignal): Promise<void> {
    const { environment, logger } = this.#components;
    if (!environment.NOTIFY_SOCKET) return;
    try {
      await this.#notify('READY=1', signal);
    } catch (err) {
      if (!signal.aborted) logger.error({ err }, 'Failed to tell the service manager that the kubelet is up');
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
    const { clock, logger } = this.#components;
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
        return await this.#notify('WATCHDOG=1', signal);
      } catch (err) {
        if (signal.aborted) return;
        if (tried === TRIES) return logger.error({ err }, 'Failed to notify watchdog');
        await sleep(clock, RETRY_MS, signal).catch(() => {});
      }
    }
  }

  async #notify(state: string, signal: AbortSignal): Promise<void> {
    const { clock, environment, run = runProgram } = this.#components;
    const program = { command: 'systemd-notify', args: [state], environment, maxStdoutLength: 1024 };
    let result: ProgramResult;
    try {
      result = await withTimeout(clock, ANSWER_MS, (linked) => run(program, linked), signal);
    } catch (cause) {
      throw new Error(`systemd-notify ${state}: ${errorText(cause)}`, { cause });
    }
    if (result.exitCode !== 0) {
      throw new Error(`systemd-notify ${state}: ended with ${result.exitCode}: ${result.stderr.trim()}`);
    }
  }
}
