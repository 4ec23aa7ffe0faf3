import { abortable, type Clock, sleep, untilNextMs } from '@node-agent/async';
import { errorText, type Logger } from '@node-agent/telemetry';
import type { RuntimeState } from '../node/runtime-state.ts';
import type { HandlerFailures } from './loop-health.ts';

const FIRST_WAIT_MS = 100;
/** Upstream waits for up to 5 s; a runtime that is back should not find its pods asleep for that long (K2). */
const LONGEST_WAIT_MS = 1000;

/** Which sources wait while the runtime is not healthy. */
export interface ConsumeOptions {
  /**
   * Once the runtime was healthy for the first time, items are handled whatever its health: news that need no runtime,
   * and would be old when it is back. Before that the source is not even read from.
   */
  readonly always?: boolean;
}

/**
 * One thing at a time: whatever the loop's sources bring is handled alone and in the order in which it came, most of it
 * only while the runtime is healthy. A source that brings more than can be handled is not read from meanwhile, so each
 * source merges what waits in it.
 */
export class SyncLoop {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #runtimeState: RuntimeState;
  #tail: Promise<unknown> = Promise.resolve();
  #lastEntryMs: number | undefined;
  readonly #failures = new Map<string, HandlerFailures>();
  /** Whether the log has said that the runtime is not healthy, since it last was. */
  #skipping = false;

  constructor(clock: Clock, logger: Logger, runtimeState: RuntimeState) {
    this.#clock = clock;
    this.#logger = logger;
    this.#runtimeState = runtimeState;
  }

  /** When the loop was last entered, by the monotonic clock; `undefined` before the first time. */
  get lastEntryMs(): number | undefined {
    return this.#lastEntryMs;
  }

  /** The handlers that failed when they were last called, by the name of their source. */
  get failures(): ReadonlyMap<string, HandlerFailures> {
    return this.#failures;
  }

  /** Handles each item of `source` in the loop, until it ends or `signal` is aborted. */
  async consume<T>(
    name: string,
    source: AsyncIterable<T>,
    handle: (item: T) => Promise<void> | void,
    signal: AbortSignal,
    { always = false }: ConsumeOptions = {},
  ): Promise<void> {
    const iterator = source[Symbol.asyncIterator]();
    // A source that is silent must not keep the loop from ending.
    if (always && !(await this.runtimeHealthy(signal))) return;
    while (!signal.aborted) {
      const next = await unlessAborted(iterator.next(), signal);
      if (next === undefined || next.done) return;
      const { value } = next;
      await this.#enter(name, () => handle(value), signal, always);
    }
  }

  /** Calls `handle` in the loop every `periodMs`, at whole multiples of it on the monotonic clock, until `signal` is aborted. */
  async tick(name: string, periodMs: number, handle: () => Promise<void> | void, signal: AbortSignal): Promise<void> {
    while (await this.#waitedForNext(periodMs, signal)) await this.#enter(name, handle, signal, false);
  }

  /**
   * As {@link tick}, for what has to ask the runtime first: `prepare` does so beside the loop, which a runtime that is slow to
   * answer must not hold up. What it resolves to is handled in the loop, whatever the runtime's health by then; `undefined` skips
   * this time. Never prepares twice at once.
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

  /** Waits until the runtime is healthy; `false` where `signal` is aborted before. */
  async runtimeHealthy(signal: AbortSignal): Promise<boolean> {
    for (let waitMs = FIRST_WAIT_MS; !signal.aborted; waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 2)) {
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

  /** What ticks does so together: to wake the process takes more than most ticks do. */
  #waitedForNext(periodMs: number, signal: AbortSignal): Promise<boolean> {
    return waited(this.#clock, untilNextMs(this.#clock.monotonic(), periodMs), signal);
  }

  async #enter(name: string, handle: () => Promise<void> | void, signal: AbortSignal, always: boolean): Promise<void> {
    let entered = false;
    while (!entered) {
      // The wait is outside of the turn: what needs no runtime must not wait behind what does.
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
    try {
      await handle();
      this.#failures.delete(name);
    } catch (err) {
      if (!signal.aborted) this.#failed(name, err);
    }
    this.#lastEntryMs = this.#clock.monotonic();
  }

  #failed(name: string, err: unknown): void {
    this.#logger.error({ err, source: name }, 'Sync loop handler failed');
    const { count = 0, sinceMs = this.#clock.monotonic() } = this.#failures.get(name) ?? {};
    this.#failures.set(name, { count: count + 1, sinceMs, error: errorText(err) });
  }
}

/** What `promise` resolves to; `undefined` as soon as `signal` is aborted. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  try {
    return await abortable(promise, signal);
  } catch (err) {
    if (signal.aborted) return undefined;
    throw err;
  }
}

/** Sleeps; `false` instead of an error where `signal` is aborted. */
export async function waited(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  return (
    (await unlessAborted(
      sleep(clock, ms, signal).then(() => true),
      signal,
    )) ?? false
  );
}
