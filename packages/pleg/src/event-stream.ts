import { abortable, type Clock, jitter, type Random, sleep } from '@node-agent/async';
import { LastingProblem, type Logger } from '@node-agent/telemetry';
import type { PlegMetrics } from './metrics.ts';
import type { PlegRuntime, PlegRuntimeEvent } from './types.ts';

const INITIAL_RETRY_MS = 1000;
const MAX_RETRY_MS = 30_000;
const RETRY_JITTER_FACTOR = 0.5;

/** Dependencies of {@link EventStream}. */
export interface EventStreamComponents {
  readonly runtime: Pick<PlegRuntime, 'containerEvents'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: PlegMetrics;
  readonly onEvent: (event: PlegRuntimeEvent) => void;
  /** Called when the stream was lost. From then on, events may be missing. */
  readonly onLost: () => void;
}

/** Reads the runtime's container events and reopens the stream, with back-off, whenever the stream is lost. */
export class EventStream {
  readonly #components: EventStreamComponents;
  readonly #unimplementedRetryMs: number;
  readonly #lost: LastingProblem;
  readonly #noEvents: LastingProblem;
  #openSinceMs: number | undefined;

  /**
   * @param unimplementedRetryMs retry period if the runtime does not implement events, because the runtime may be
   * replaced by one that does
   */
  constructor(components: EventStreamComponents, unimplementedRetryMs: number) {
    this.#components = components;
    this.#lost = new LastingProblem(components.logger, {
      failed: 'The stream of container events was lost',
      over: 'The container runtime sends events again',
    });
    this.#noEvents = new LastingProblem(components.logger, {
      ...{ failed: 'Container runtime sends no events; listing its pods periodically', level: 'info' },
      over: 'The container runtime sends events now',
    });
    this.#unimplementedRetryMs = unimplementedRetryMs;
  }

  /**
   * Monotonic time at which the open stream was requested. `undefined` if no stream is open. The runtime sends no
   * acknowledgement before the first event, so an open stream does not prove that the runtime has received the request.
   */
  get openSinceMs(): number | undefined {
    return this.#openSinceMs;
  }

  /** Reads events until `signal` is aborted. Returns immediately if the runtime port has no `containerEvents`. */
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

  /** Reads one stream until it ends. Returns whether the runtime reported that events are unimplemented. */
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
      // `for await` is not used, because a stream that ignores the signal must not delay the shutdown.
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
