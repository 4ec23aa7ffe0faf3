import { abortable, type Clock, jitter, type Random, sleep } from '@node-agent/async';
import { LastingProblem, type Logger } from '@node-agent/telemetry';
import type { PlegMetrics } from './metrics.ts';
import type { PlegRuntime, PlegRuntimeEvent } from './types.ts';

const INITIAL_RETRY_MS = 1000;
const MAX_RETRY_MS = 30_000;
const RETRY_JITTER_FACTOR = 0.5;

/** What {@link EventStream} works with. */
export interface EventStreamComponents {
  readonly runtime: Pick<PlegRuntime, 'containerEvents'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: PlegMetrics;
  readonly onEvent: (event: PlegRuntimeEvent) => void;
  /** Events may be missing from now on. */
  readonly onLost: () => void;
}

/** The runtime's events, over as many streams as it takes. */
export class EventStream {
  readonly #components: EventStreamComponents;
  readonly #unimplementedRetryMs: number;
  readonly #lost: LastingProblem;
  readonly #noEvents: LastingProblem;
  #openSinceMs: number | undefined;

  /** @param unimplementedRetryMs how often a runtime that has no events is asked again: it may be replaced by one that has */
  constructor(components: EventStreamComponents, unimplementedRetryMs: number) {
    this.#components = components;
    this.#lost = new LastingProblem(components.logger, {
      failed: 'The stream of container events was lost',
      over: 'The container runtime sends events again',
    });
    this.#noEvents = new LastingProblem(components.logger, {
      ...{ failed: 'The container runtime has no events: its pods are listed every so often', level: 'info' },
      over: 'The container runtime sends events now',
    });
    this.#unimplementedRetryMs = unimplementedRetryMs;
  }

  /**
   * When the stream that is open now was asked for, by the monotonic clock; `undefined` where none is. A runtime says nothing before the
   * first event, so that it may not have heard of it yet.
   */
  get openSinceMs(): number | undefined {
    return this.#openSinceMs;
  }

  /** Reads events until `signal` is aborted; returns at once where the runtime has none. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, runtime } = this.#components;
    if (runtime.containerEvents === undefined) return;
    let retryMs = INITIAL_RETRY_MS;
    while (!signal.aborted) {
      const startMs = clock.monotonic();
      const unimplemented = await this.#readOnce(signal);
      if (clock.monotonic() - startMs >= MAX_RETRY_MS) retryMs = INITIAL_RETRY_MS;
      const delayMs = unimplemented ? this.#unimplementedRetryMs : retryMs;
      await sleep(clock, jitter(random, delayMs, RETRY_JITTER_FACTOR), signal).catch(() => {});
      retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
    }
  }

  /** Reads one stream to its end; whether the runtime has no events. */
  async #readOnce(signal: AbortSignal): Promise<boolean> {
    const { clock, metrics, onLost } = this.#components;
    this.#openSinceMs = clock.monotonic();
    let failure: unknown;
    try {
      await this.#readAll(signal);
    } catch (error) {
      failure = error;
    }
    this.#openSinceMs = undefined;
    if (signal.aborted) return false;
    const unimplemented = (failure as { code?: unknown } | undefined)?.code === 'UNIMPLEMENTED';
    metrics.connectionErrors.inc({});
    if (unimplemented) this.#noEvents.failed();
    else this.#lost.failed(failure);
    onLost();
    return unimplemented;
  }

  async #readAll(signal: AbortSignal): Promise<void> {
    const { clock, metrics, onEvent, runtime } = this.#components;
    const events: AsyncIterator<PlegRuntimeEvent> | undefined = runtime
      .containerEvents?.(signal)
      [Symbol.asyncIterator]();
    for (;;) {
      // Not `for await`: a stream that does not hear the signal must not hold up the end.
      const next = events && (await abortable(events.next(), signal));
      if (next === undefined || next.done) return;
      const { createdAtMs } = next.value;
      if (createdAtMs !== undefined) {
        metrics.connectionLatency.observe({}, Math.max(0, clock.now() - createdAtMs) / 1000);
      }
      this.#lost.over();
      this.#noEvents.over();
      onEvent(next.value);
    }
  }
}
