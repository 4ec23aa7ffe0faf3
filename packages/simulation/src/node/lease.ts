import { type Clock, linkAbort, type Timer } from '@node-agent/async';

/** The kind of port that a call uses. */
export type PortKind = 'cri' | 'fs' | 'mount' | 'http' | 'api' | 'stats' | 'cgroup' | 'plugin' | 'logind';

/** A call of a kubelet to its environment. */
export interface PortCall {
  readonly port: PortKind;
  readonly name: string;
  readonly args: readonly unknown[];
}

/**
 * A kubelet process's access to the machine. After the lease has ended, as by `kill -9`, the process has no effect any
 * more: its timers never fire, and its calls neither resolve nor reject.
 */
export class Lease {
  readonly #clock: Clock;
  readonly #bootMs: number;
  readonly #onCall: (call: PortCall) => void;
  readonly #timers = new Set<Timer>();
  readonly #death = new AbortController();
  readonly #callsDeath = new AbortController();
  #dead = false;
  #plannedKill: { left: number; readonly effect: 'before' | 'after'; readonly kill: () => void } | undefined;

  /** @param onCall called for each call before the call is made */
  constructor(clock: Clock, onCall: (call: PortCall) => void) {
    this.#clock = clock;
    this.#bootMs = clock.monotonic();
    this.#onCall = onCall;
  }

  get dead(): boolean {
    return this.#dead;
  }

  /** Number of pending timers of the process, by which leaks are detected. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** The machine's monotonic time, which is independent of the process. */
  get nowMs(): number {
    return this.#clock.monotonic();
  }

  /** The process's clock. Monotonic time starts at 0 with the process, as in Node.js. */
  get clock(): Clock {
    return {
      now: () => this.#clock.now(),
      monotonic: () => this.#clock.monotonic() - this.#bootMs,
      setTimer: (delayMs, callback) => this.#setTimer(delayMs, callback),
    };
  }

  /**
   * Ends the process. `inFlight` decides whether calls in progress are cancelled or completed. Streams end in any case.
   */
  end(inFlight: 'cancelled' | 'completed'): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#plannedKill = undefined;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    this.#death.abort();
    if (inFlight === 'cancelled') this.#callsDeath.abort();
  }

  /** Schedules `kill` for the process's n-th call from now, either before the call is made or after it has started. */
  planKill(afterCalls: number, effect: 'before' | 'after', kill: () => void): void {
    this.#plannedKill = { left: afterCalls, effect, kill };
  }

  /** Makes a call that ends with the process. */
  call<T>(call: PortCall, signal: AbortSignal | undefined, make: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#dead) return never();
    const plan = this.#plannedKill;
    const strikes = plan !== undefined && --plan.left <= 0;
    if (strikes && plan.effect === 'before') {
      plan.kill();
      return never();
    }
    this.#onCall(call);
    if (this.#dead) return never();
    // Most calls have no signal of their own and end only with the process.
    const link = signal && linkAbort(signal, this.#callsDeath.signal);
    const made = make(link?.signal ?? this.#callsDeath.signal);
    if (strikes) plan.kill();
    return new Promise<T>((resolve, reject) => {
      made.then(
        (value) => {
          link?.[Symbol.dispose]();
          if (!this.#dead) resolve(value);
        },
        (error: unknown) => {
          link?.[Symbol.dispose]();
          if (!this.#dead) reject(error);
        },
      );
    });
  }

  /** Reads a stream for as long as the process lives. */
  async *stream<T>(
    call: PortCall,
    signal: AbortSignal | undefined,
    open: (signal: AbortSignal) => AsyncIterable<T>,
  ): AsyncGenerator<T> {
    if (this.#dead) await never();
    this.#onCall(call);
    using link = linkAbort(signal, this.#death.signal);
    try {
      for await (const item of open(link.signal)) {
        if (this.#dead) await never();
        yield item;
      }
    } catch (error) {
      if (this.#dead) await never();
      throw error;
    }
  }

  /** Returns a signal that is aborted with `signal` or at the end of the process. */
  untilDeath(signal: AbortSignal): AbortSignal {
    return linkAbort(signal, this.#death.signal).signal;
  }

  #setTimer(delayMs: number, callback: () => void): Timer {
    if (this.#dead) return { cancel() {} };
    const timer = this.#clock.setTimer(delayMs, () => {
      this.#timers.delete(timer);
      callback();
    });
    this.#timers.add(timer);
    return {
      cancel: () => {
        this.#timers.delete(timer);
        timer.cancel();
      },
    };
  }
}

function never<T>(): Promise<T> {
  return new Promise<T>(() => {});
}
