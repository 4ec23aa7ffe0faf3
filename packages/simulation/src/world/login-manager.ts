import { type Clock, CoalescingQueue, sleep } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';
import { type InhibitorLock, type LogindSession, NodeShutdownError } from '@node-agent/node-shutdown';
import type { ShutdownPlan } from '../scenario/shutdown-plans.ts';

const OVERRIDE_FILE = '/etc/systemd/logind.conf.d/99-kubelet.conf';
const CONNECTS_MS = 3;
const ANSWERS_MS = 1;
/** Time that the kubelet needs to get a lock, because a process is started for each lock. */
const LOCKS_MS = 20;
const RELOADS_MS = 300;

/** How a lock changed. `gone` means that the process that held the lock ended, or that a fault removed the lock. */
export type LockEvent = 'taken' | 'released' | 'gone';

/** Receives the events of logind. */
export interface LoginListener {
  /** Called when a shutdown is announced, or when no shutdown is in progress any more. */
  readonly said: (isShuttingDown: boolean) => void;
  readonly bus: (up: boolean) => void;
  /** @param held number of locks after the change */
  readonly lock: (how: LockEvent, held: number) => void;
}

/** A lock, with an additional method for the machine. */
export interface MachineLock extends InhibitorLock {
  /** Releases the lock because the process that holds it has died. */
  drop(): void;
}

/** A session, with an additional method for the machine. */
export interface MachineSession extends LogindSession {
  /** Ends the session because the process that opened it has died. */
  forget(): void;
}

/**
 * logind as a kubelet sees it: logind announces shutdowns and gives locks that delay a shutdown. During a shutdown
 * logind gives no locks. logind survives the kubelet, whose locks end with the kubelet.
 */
export class LoginManager {
  readonly #clock: Clock;
  readonly #fs: Pick<FileSystem, 'readFile'>;
  readonly #tell: LoginListener;
  readonly #firstDelayMs: number;
  readonly #locks = new Set<MachineLock>();
  readonly #sessions = new Map<CoalescingQueue<'said', boolean>, { ended: boolean }>();
  #delayMs: number;
  #preparing = false;
  #busUp = true;
  #shutdowns = 0;
  #onUnlocked: (() => void) | undefined;

  constructor(
    clock: Clock,
    fs: Pick<FileSystem, 'readFile'>,
    { inhibitDelaySeconds }: ShutdownPlan,
    tell: LoginListener,
  ) {
    this.#clock = clock;
    this.#fs = fs;
    this.#tell = tell;
    this.#firstDelayMs = inhibitDelaySeconds * 1000;
    this.#delayMs = this.#firstDelayMs;
  }

  /** Whether a shutdown is in progress. */
  get preparing(): boolean {
    return this.#preparing;
  }

  /** Number of shutdowns that have started. */
  get shutdowns(): number {
    return this.#shutdowns;
  }

  /**
   * Starts a shutdown.
   * @param onUnlocked called when no lock delays the shutdown
   */
  begin(onUnlocked: () => void): void {
    this.#shutdowns++;
    this.#onUnlocked = onUnlocked;
    this.#say(true);
    if (this.#locks.size === 0) onUnlocked();
  }

  cancel(): void {
    if (!this.#preparing) return;
    this.#onUnlocked = undefined;
    this.#say(false);
  }

  busGoes(): void {
    if (!this.#busUp) return;
    this.#busUp = false;
    this.#tell.bus(false);
    for (const [session, state] of this.#sessions) end(session, state);
    this.#sessions.clear();
  }

  busComes(): void {
    if (this.#busUp) return;
    this.#busUp = true;
    this.#tell.bus(true);
  }

  /** Kills the processes that hold locks. */
  loseLocks(): void {
    for (const lock of [...this.#locks]) lock.drop();
  }

  /** Resets the state after a power-off: no shutdown is in progress, and the configuration file has been read. */
  async reboot(): Promise<void> {
    this.#onUnlocked = undefined;
    this.#preparing = false;
    this.#tell.said(false);
    await this.#readDelay().catch(() => {});
  }

  /** @throws NodeShutdownError `Logind`; the signal's reason */
  async connect(signal: AbortSignal): Promise<MachineSession> {
    await this.#answered(CONNECTS_MS, signal, undefined);
    const shutdowns = new CoalescingQueue<'said', boolean>();
    const state = { ended: false };
    this.#sessions.set(shutdowns, state);
    const answered = (ending: AbortSignal): Promise<void> => this.#answered(ANSWERS_MS, ending, state);
    const close = (): void => {
      this.#sessions.delete(shutdowns);
      end(shutdowns, state);
    };
    return {
      shutdowns: valuesOf(shutdowns),
      inhibitDelayMs: async (ending) => {
        await answered(ending);
        return this.#delayMs;
      },
      isPreparingForShutdown: async (ending) => {
        await answered(ending);
        return this.#preparing;
      },
      reloadConfiguration: async (ending) => {
        await answered(ending);
        this.#clock.setTimer(RELOADS_MS, () => void this.#readDelay().catch(() => {}));
      },
      close,
      forget: () => void this.#sessions.delete(shutdowns),
    };
  }

  /** @throws NodeShutdownError `Inhibit`; the signal's reason */
  async acquire(signal: AbortSignal): Promise<MachineLock> {
    await sleep(this.#clock, LOCKS_MS, signal);
    if (!this.#busUp) throw refused('Failed to connect to system bus: Connection refused');
    if (this.#preparing) throw refused('The operation inhibition has been requested for is already running');
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const goes = (how: LockEvent): void => {
      resolve();
      if (!this.#locks.delete(lock)) return;
      this.#tell.lock(how, this.#locks.size);
      if (this.#locks.size === 0) this.#onUnlocked?.();
    };
    const lock: MachineLock = { ended, release: async () => goes('released'), drop: () => goes('gone') };
    this.#locks.add(lock);
    this.#tell.lock('taken', this.#locks.size);
    return lock;
  }

  #say(preparing: boolean): void {
    this.#preparing = preparing;
    this.#tell.said(preparing);
    for (const session of this.#sessions.keys()) session.push('said', preparing);
  }

  async #answered(
    afterMs: number,
    signal: AbortSignal,
    session: { readonly ended: boolean } | undefined,
  ): Promise<void> {
    await sleep(this.#clock, afterMs, signal);
    if (!this.#busUp || session?.ended) throw new NodeShutdownError('Logind', 'system bus is down');
  }

  async #readDelay(): Promise<void> {
    const text = new TextDecoder().decode(await this.#fs.readFile(OVERRIDE_FILE));
    const seconds = Number(/^InhibitDelayMaxSec=(\d+)$/m.exec(text)?.[1] ?? this.#firstDelayMs / 1000);
    this.#delayMs = seconds * 1000;
  }
}

function refused(why: string): NodeShutdownError {
  return new NodeShutdownError('Inhibit', `failed creating systemd inhibitor: Failed to inhibit: ${why}`);
}

function end(session: CoalescingQueue<'said', boolean>, state: { ended: boolean }): void {
  state.ended = true;
  session.close();
}

async function* valuesOf(said: CoalescingQueue<'said', boolean>): AsyncGenerator<boolean> {
  for await (const [, isShuttingDown] of said) yield isShuttingDown;
}
