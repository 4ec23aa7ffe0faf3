import { abortable, type Clock, sleep } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';
import type { RuntimeState } from './runtime-state.ts';

const FIRST_WAIT_MS = 100;
/** Upstream waits for up to 5 s; a runtime that is back should not find its pods asleep for that long (K2). */
const LONGEST_WAIT_MS = 1000;

/**
 * One thing at a time: whatever the loop's sources bring is handled alone and in the order in which it came, and only
 * while the runtime is healthy. A source that brings more than can be handled is not read from meanwhile, so each
 * source merges what waits in it.
 */
export class SyncLoop {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #runtimeState: RuntimeState;
  #tail: Promise<void> = Promise.resolve();
  #lastEntryMs: number | undefined;

  constructor(clock: Clock, logger: Logger, runtimeState: RuntimeState) {
    this.#clock = clock;
    this.#logger = logger;
    this.#runtimeState = runtimeState;
  }

  /** When the loop was last entered, by the monotonic clock; `undefined` before the first time. */
  get lastEntryMs(): number | undefined {
    return this.#lastEntryMs;
  }

  /** Handles each item of `source` in the loop, until it ends or `signal` is aborted. */
  async consume<T>(
    name: string,
    source: AsyncIterable<T>,
    handle: (item: T) => Promise<void> | void,
    signal: AbortSignal,
  ): Promise<void> {
    const iterator = source[Symbol.asyncIterator]();
    // A source that is silent must not keep the loop from ending.
    while (!signal.aborted) {
      const next = await unlessAborted(iterator.next(), signal);
      if (next === undefined || next.done) return;
      const { value } = next;
      await this.#enter(name, () => handle(value), signal);
    }
  }

  /** Calls `handle` in the loop every `periodMs`, for the first time one period from now, until `signal` is aborted. */
  async tick(name: string, periodMs: number, handle: () => Promise<void> | void, signal: AbortSignal): Promise<void> {
    while (await waited(this.#clock, periodMs, signal)) await this.#enter(name, handle, signal);
  }

  async #enter(name: string, handle: () => Promise<void> | void, signal: AbortSignal): Promise<void> {
    const turn = this.#tail.then(async () => {
      if (!(await this.#runtimeHealthy(signal))) return;
      this.#lastEntryMs = this.#clock.monotonic();
      try {
        await handle();
      } catch (err) {
        if (!signal.aborted) this.#logger.error({ err, source: name }, 'Sync loop handler failed');
      }
      this.#lastEntryMs = this.#clock.monotonic();
    });
    this.#tail = turn;
    await turn;
  }

  /** Waits until the runtime is healthy; `false` where the loop is ended before. */
  async #runtimeHealthy(signal: AbortSignal): Promise<boolean> {
    let waitMs = FIRST_WAIT_MS;
    for (
      let errors = this.#runtimeState.errors();
      errors.length > 0 && !signal.aborted;
      errors = this.#runtimeState.errors()
    ) {
      if (waitMs === FIRST_WAIT_MS) this.#logger.warn({ errors }, 'Skipping pod synchronization');
      if (!(await waited(this.#clock, waitMs, signal))) return false;
      waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 2);
    }
    return !signal.aborted;
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
