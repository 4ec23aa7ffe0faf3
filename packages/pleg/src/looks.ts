import { type Clock, jitter, type Random, Semaphore, type Timer } from '@node-agent/async';

/**
 * Retry delays after a failed read. The delays are short, because a pod whose state cannot be read can be neither
 * started nor stopped. Upstream reads such a pod again with every relist.
 */
const INITIAL_RETRY_MS = 1000;
const MAX_RETRY_MS = 3000;
const RETRY_JITTER_FACTOR = 0.5;

/** Dependencies of {@link Looks}. */
export interface LooksComponents {
  readonly clock: Clock;
  readonly random: Random;
  /** Reads one pod from the runtime. Returns whether the read succeeded. Throws only the signal's reason. */
  readonly look: (uid: string, signal: AbortSignal) => Promise<boolean>;
  /**
   * Returns the monotonic time before which a read of the pod must not start, or `undefined` if the read may start now.
   */
  readonly notBefore: (uid: string) => number | undefined;
  /** Called when no further read of the pod is pending. */
  readonly settled: (uid: string) => void;
}

interface Look {
  state: 'waiting' | 'running';
  /** Whether another read was requested during the running read, which may miss the change that caused the request. */
  again: boolean;
  failures: number;
  timer: Timer | undefined;
  /** Monotonic time at which the pending read is due. */
  dueMs: number;
}

/**
 * Schedules reads of single pods ("looks"): at most one at a time per pod, and a limited number in total. Requests made
 * before a read starts are served by that read; requests made while the read runs cause one more read. Failed reads are
 * retried until they succeed.
 */
export class Looks {
  readonly #components: LooksComponents;
  readonly #turns: Semaphore;
  readonly #looks = new Map<string, Look>();
  readonly #running = new Set<Promise<void>>();
  #signal: AbortSignal | undefined;

  constructor(components: LooksComponents, maxConcurrent: number) {
    this.#components = components;
    this.#turns = new Semaphore(maxConcurrent);
  }

  /** UIDs of the pods with a running or pending read. */
  get pending(): ReadonlySet<string> {
    return new Set(this.#looks.keys());
  }

  /** Returns whether a read of the pod runs or waits for a free slot. */
  isRunning(uid: string): boolean {
    return this.#looks.get(uid)?.state === 'running';
  }

  /** Requests a read that starts after this call. Requests before {@link start} are served after the start. */
  request(uid: string): void {
    const look = this.#lookOf(uid);
    if (look.state === 'running') look.again = true;
    this.#begin(uid);
  }

  /**
   * Requests a read like {@link request}, but the read starts only in the next turn of the event loop, so that a burst
   * of requests causes one read.
   */
  requestSoon(uid: string): void {
    const look = this.#lookOf(uid);
    if (look.state === 'running') look.again = true;
    else if (this.#signal !== undefined && look.dueMs > this.#components.clock.monotonic()) this.#beginIn(uid, look, 0);
  }

  /** Starts the retries of all failed reads now, without waiting for their back-off. */
  retryNow(): void {
    for (const [uid, look] of [...this.#looks]) if (look.failures > 0) this.#begin(uid);
  }

  /** Starts pending reads, and allows new ones until `signal` is aborted. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
    for (const uid of [...this.#looks.keys()]) this.#begin(uid);
  }

  /** Waits for running reads after the signal was aborted. Pending reads are dropped. */
  async stopped(): Promise<void> {
    for (const look of this.#looks.values()) look.timer?.cancel();
    this.#looks.clear();
    await Promise.all(this.#running);
  }

  #lookOf(uid: string): Look {
    const known = this.#looks.get(uid);
    if (known !== undefined) return known;
    const idle = { again: false, failures: 0, timer: undefined, dueMs: Number.POSITIVE_INFINITY };
    const look: Look = { state: 'waiting', ...idle };
    this.#looks.set(uid, look);
    return look;
  }

  #begin(uid: string): void {
    const look = this.#looks.get(uid);
    const signal = this.#signal;
    if (look === undefined || look.state === 'running' || signal === undefined || signal.aborted) return;
    look.timer?.cancel();
    look.timer = undefined;
    look.dueMs = Number.POSITIVE_INFINITY;
    look.state = 'running';
    const running = this.#run(uid, look, signal).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #run(uid: string, look: Look, signal: AbortSignal): Promise<void> {
    const { random, settled } = this.#components;
    const ok = await this.#lookInTurn(uid, look, signal);
    if (signal.aborted || this.#looks.get(uid) !== look) return;
    look.state = 'waiting';
    if (ok === 'too early') {
      this.#beginIn(uid, look, 1);
    } else if (ok) {
      look.failures = 0;
      if (look.again) {
        this.#beginIn(uid, look, 0);
      } else {
        this.#looks.delete(uid);
        settled(uid);
      }
    } else {
      look.failures++;
      const delayMs = Math.min(INITIAL_RETRY_MS * 2 ** (look.failures - 1), MAX_RETRY_MS);
      this.#beginIn(uid, look, jitter(random, delayMs, RETRY_JITTER_FACTOR));
    }
  }

  async #lookInTurn(uid: string, look: Look, signal: AbortSignal): Promise<boolean | 'too early'> {
    const { clock, notBefore } = this.#components;
    try {
      using _turn = await this.#turns.acquire(signal);
      look.again = false;
      const notBeforeMs = notBefore(uid);
      if (notBeforeMs !== undefined && clock.monotonic() <= notBeforeMs) return 'too early';
      return await this.#components.look(uid, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      return false;
    }
  }

  #beginIn(uid: string, look: Look, delayMs: number): void {
    look.timer?.cancel();
    look.dueMs = this.#components.clock.monotonic() + delayMs;
    look.timer = this.#components.clock.setTimer(delayMs, () => {
      look.timer = undefined;
      this.#begin(uid);
    });
  }
}
