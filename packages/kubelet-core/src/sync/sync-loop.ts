import { abortable, type Clock, sleep, untilNextMs } from '@node-agent/async';
import { errorText, type Logger } from '@node-agent/telemetry';
import type { RuntimeState } from '../node/runtime-state.ts';
import type { HandlerFailures } from './loop-health.ts';

const FIRST_WAIT_MS = 100;
/**
 * Maximum wait for the runtime, in ms. Upstream waits up to 5 s. A shorter wait lets pods be synced sooner after the
 * runtime recovers (K2).
 */
const MAX_WAIT_MS = 1000;

/** Options of {@link SyncLoop.consume}. */
export interface ConsumeOptions {
  /**
   * Whether items are handled regardless of the runtime's health once the runtime has been healthy for the first time.
   * Set for items that need no runtime and would be outdated when the runtime is healthy again. Before the runtime's
   * first healthy state the source is not read.
   */
  readonly always?: boolean;
  /**
   * Whether items are also handled while a handler of another source waits, for example between two portions of a long
   * list of pods. The handler must not return a promise.
   */
  readonly between?: boolean;
}

/**
 * Handles the items of all its sources one at a time, in order of arrival, most of them only while the runtime is
 * healthy. Items of some sources need not wait for the others ({@link ConsumeOptions.between}). A source is not read
 * while its previous item is being handled, so each source must merge its waiting items.
 */
export class SyncLoop {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #runtimeState: RuntimeState;
  #tail: Promise<unknown> = Promise.resolve();
  #lastEntryMs: number | undefined;
  #isHandling = false;
  readonly #failures = new Map<string, HandlerFailures>();
  /** Whether a log entry about the unhealthy runtime was written since the runtime was last healthy. */
  #skipping = false;

  constructor(clock: Clock, logger: Logger, runtimeState: RuntimeState) {
    this.#clock = clock;
    this.#logger = logger;
    this.#runtimeState = runtimeState;
  }

  /** Time at which the loop was last entered, by the monotonic clock; `undefined` before the first time. */
  get lastEntryMs(): number | undefined {
    return this.#lastEntryMs;
  }

  /** Handlers whose last call failed, by the name of their source. */
  get failures(): ReadonlyMap<string, HandlerFailures> {
    return this.#failures;
  }

  /** Handles each item of `source` in the loop, until the source ends or `signal` is aborted. */
  async consume<T>(
    name: string,
    source: AsyncIterable<T>,
    handle: (item: T) => Promise<void> | void,
    signal: AbortSignal,
    { always = false, between = false }: ConsumeOptions = {},
  ): Promise<void> {
    const iterator = source[Symbol.asyncIterator]();
    if (always && !(await this.runtimeHealthy(signal))) return;
    while (!signal.aborted) {
      // If `signal` is aborted, the wait for the next item must also end if the source produces none.
      const next = await unlessAborted(iterator.next(), signal);
      if (next === undefined || next.done) return;
      const { value } = next;
      if (!between) await this.#enter(name, () => handle(value), signal, always);
      else if (always || (await this.runtimeHealthy(signal))) {
        // Items in between must not hide a handler that hangs.
        if (!this.#isHandling) this.#lastEntryMs = this.#clock.monotonic();
        await this.#call(name, () => handle(value), signal);
      }
    }
  }

  /**
   * Calls `handle` in the loop every `periodMs`, at whole multiples of the period on the monotonic clock, until
   * `signal` is aborted.
   */
  async tick(name: string, periodMs: number, handle: () => Promise<void> | void, signal: AbortSignal): Promise<void> {
    while (await this.#waitedForNext(periodMs, signal)) await this.#enter(name, handle, signal, false);
  }

  /**
   * Like {@link tick}, for handlers that need data from the runtime. `prepare` runs outside the loop, so that a slow
   * runtime does not block the loop. `handle` then receives the result in the loop, regardless of the runtime's health
   * at that time. If `prepare` resolves to `undefined`, `handle` is skipped. Preparations never overlap.
   */
  async tickPrepared<T>(
    name: string,
    periodMs: number,
    steps: {
      prepare(signal: AbortSignal): Promise<T | undefined>;
      handle(prepared: T, signal: AbortSignal): Promise<void>;
    },
    signal: AbortSignal,
  ): Promise<void> {
    while ((await this.#waitedForNext(periodMs, signal)) && (await this.runtimeHealthy(signal))) {
      try {
        const prepared = await steps.prepare(signal);
        if (prepared !== undefined) await this.#enter(name, () => steps.handle(prepared, signal), signal, true);
      } catch (err) {
        if (!signal.aborted) this.#logger.error({ err, source: name }, 'Sync loop handler failed');
      }
    }
  }

  /** Waits until the runtime is healthy. Returns `false` if `signal` is aborted first. */
  async runtimeHealthy(signal: AbortSignal): Promise<boolean> {
    for (let waitMs = FIRST_WAIT_MS; !signal.aborted; waitMs = Math.min(MAX_WAIT_MS, waitMs * 2)) {
      const errors = this.#runtimeState.errors();
      if (errors.length === 0) {
        this.#skipping = false;
        return true;
      }
      if (!this.#skipping) this.#logger.warn({ errors }, 'Skipping pod synchronization');
      this.#skipping = true;
      if (!(await waited(this.#clock, waitMs, signal))) return false;
    }
    return false;
  }

  /** All ticks are aligned to common instants, because waking the process costs more than most ticks do. */
  #waitedForNext(periodMs: number, signal: AbortSignal): Promise<boolean> {
    return waited(this.#clock, untilNextMs(this.#clock.monotonic(), periodMs), signal);
  }

  async #enter(name: string, handle: () => Promise<void> | void, signal: AbortSignal, always: boolean): Promise<void> {
    let entered = false;
    while (!entered) {
      // The wait happens outside the queue: items that need no runtime must not wait behind items that do.
      if (!always && !(await this.runtimeHealthy(signal))) return;
      const turn = this.#tail.then(async () => {
        if (signal.aborted) return true;
        if (!always && this.#runtimeState.errors().length > 0) return false;
        await this.#handle(name, handle, signal);
        return true;
      });
      this.#tail = turn;
      entered = await turn;
    }
  }

  async #handle(name: string, handle: () => Promise<void> | void, signal: AbortSignal): Promise<void> {
    this.#lastEntryMs = this.#clock.monotonic();
    this.#isHandling = true;
    await this.#call(name, handle, signal);
    this.#isHandling = false;
    this.#lastEntryMs = this.#clock.monotonic();
  }

  async #call(name: string, handle: () => Promise<void> | void, signal: AbortSignal): Promise<void> {
    try {
      await handle();
      this.#failures.delete(name);
    } catch (err) {
      if (!signal.aborted) this.#failed(name, err);
    }
  }

  #failed(name: string, err: unknown): void {
    this.#logger.error({ err, source: name }, 'Sync loop handler failed');
    const { count = 0, sinceMs = this.#clock.monotonic() } = this.#failures.get(name) ?? {};
    this.#failures.set(name, { count: count + 1, sinceMs, error: errorText(err) });
  }
}

/** Resolves to the result of `promise`, or to `undefined` as soon as `signal` is aborted. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  try {
    return await abortable(promise, signal);
  } catch (err) {
    if (signal.aborted) return undefined;
    throw err;
  }
}

/** Sleeps for `ms`. Returns `false`, instead of throwing, if `signal` is aborted. */
export function waited(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  return sleep(clock, ms, signal).then(
    () => true,
    () => false,
  );
}
