import { type Clock, jitter, type Random, Semaphore, type Timer } from '@node-agent/async';

/** A pod whose state cannot be read can neither be started nor ended: it is not left for long, as upstream reads it again with every list. */
const INITIAL_RETRY_MS = 1000;
const MAX_RETRY_MS = 3000;
const RETRY_JITTER_FACTOR = 0.5;

/** What {@link Looks} works with. */
export interface LooksComponents {
  readonly clock: Clock;
  readonly random: Random;
  /** Looks at one pod; whether it could. Throws at most the signal's reason. */
  readonly look: (uid: string, signal: AbortSignal) => Promise<boolean>;
  /** The monotonic time after which the look must begin; it is put off until then. */
  readonly notBefore: (uid: string) => number | undefined;
  /** Nothing is left to be done for this pod. */
  readonly settled: (uid: string) => void;
}

interface Look {
  state: 'waiting' | 'running';
  /** Asked for while one runs, which may have passed what it is about. */
  again: boolean;
  failures: number;
  timer: Timer | undefined;
  /** When the timer is due. */
  dueMs: number;
}

/**
 * Looks at single pods: one at a time of each pod, a few at a time of all. What is asked for before a look begins is answered by that
 * look; what is asked for while it runs, by one more. A look that failed is tried again, until it succeeds.
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

  /** The pods for which a look runs or is to come. */
  get pending(): ReadonlySet<string> {
    return new Set(this.#looks.keys());
  }

  /** Whether a look of the pod runs or waits its turn. */
  isRunning(uid: string): boolean {
    return this.#looks.get(uid)?.state === 'running';
  }

  /** Asks for a look that begins from now on. Before {@link start} it is kept. */
  request(uid: string): void {
    const look = this.#lookOf(uid);
    if (look.state === 'running') look.again = true;
    this.#begin(uid);
  }

  /** As {@link request}, but from the next turn of the event loop on: what comes in a burst is one look. */
  requestSoon(uid: string): void {
    const look = this.#lookOf(uid);
    if (look.state === 'running') look.again = true;
    else if (this.#signal !== undefined && look.dueMs > this.#components.clock.monotonic()) this.#beginIn(uid, look, 0);
  }

  /** Tries again at once what waits because it failed. */
  retryNow(): void {
    for (const [uid, look] of [...this.#looks]) if (look.failures > 0) this.#begin(uid);
  }

  /** Lets looks begin until `signal` is aborted. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
    for (const uid of [...this.#looks.keys()]) this.#begin(uid);
  }

  /** Waits for the looks that run, after the signal was aborted; drops the others. */
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
