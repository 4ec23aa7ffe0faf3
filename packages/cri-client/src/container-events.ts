import {
  type Clock,
  checkComponents,
  checkOptions,
  jitter,
  OptionsError,
  type Random,
  sleep,
  systemClock,
  systemRandom,
} from '@node-agent/async';
import { type Logger, silentLogger } from '@node-agent/telemetry';
import { CriError } from './errors.ts';
import type { RuntimeService } from './generated/services.ts';
import type { ContainerEventResponse } from './generated/types.ts';

/** Components of {@link watchContainerEvents}. */
export interface ContainerEventComponents {
  readonly runtime: Pick<RuntimeService, 'getContainerEvents' | 'version'>;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: the system's random numbers. */
  readonly random?: Random;
  /** Default: no logging. */
  readonly logger?: Logger;
}

/** Back-off before the stream is reopened. */
export interface ContainerEventOptions {
  /** First delay, in milliseconds; each further delay is twice as long. Default: 100. */
  readonly backOffMs?: number;
  /** Longest delay, in milliseconds. Default: 3,000. */
  readonly maxBackOffMs?: number;
}

/**
 * Items of {@link watchContainerEvents}. `connected`: the stream is open and delivers events from now on. Earlier
 * events may have been missed, so the reader must list the containers once. `reconnect` is false for the first
 * connection. `event`: one event.
 */
export type ContainerEventItem =
  | { readonly type: 'connected'; readonly reconnect: boolean }
  | { readonly type: 'event'; readonly event: ContainerEventResponse };

/**
 * Yields the runtime's container events. If the stream ends, a new stream is opened after a jittered back-off. The
 * back-off is reset after a stream that lasted at least `maxBackOffMs`.
 *
 * Ends when `signal` is aborted. Source: KEP-3386. Unlike this function, upstream gives up after five attempts
 * (`pkg/kubelet/pleg/evented.go`).
 * @throws CriError `UNIMPLEMENTED` if the runtime does not support container events; the caller should list
 * periodically instead
 */
export async function* watchContainerEvents(
  components: ContainerEventComponents,
  options: ContainerEventOptions,
  signal: AbortSignal,
): AsyncGenerator<ContainerEventItem, void, undefined> {
  checkOptions('watchContainerEvents', options, { backOffMs: 'positive?', maxBackOffMs: 'positive?' });
  checkComponents('watchContainerEvents', components, { runtime: ['getContainerEvents', 'version'] });
  if (!(signal instanceof AbortSignal)) throw new OptionsError('watchContainerEvents', 'signal', 'signal is missing');
  const { runtime, clock = systemClock, random = systemRandom, logger = silentLogger } = components;
  const { backOffMs = 100, maxBackOffMs = 3_000 } = options;
  let delayMs = backOffMs;
  let reconnect = false;
  while (!signal.aborted) {
    const startMs = clock.monotonic();
    try {
      for await (const item of oneStream(runtime, reconnect, signal)) {
        reconnect = true;
        yield item;
      }
      logger.debug({}, 'Stream of container events ended');
    } catch (error) {
      if (signal.aborted) return;
      const failure = CriError.from(error, 'GetContainerEvents');
      if (failure.code === 'UNIMPLEMENTED') throw failure;
      logger.debug({ err: failure, retryInMs: delayMs }, 'Stream of container events failed');
    }
    if (clock.monotonic() - startMs >= maxBackOffMs) delayMs = backOffMs;
    await sleep(clock, jitter(random, delayMs, 0.5), signal).catch(() => {});
    delayMs = Math.min(delayMs * 2, maxBackOffMs);
  }
}

/**
 * Yields the items of one stream. A runtime sends nothing before the first event, not even headers. This function
 * therefore makes a `Version` call after the stream's request: the response to that call shows that the request has
 * arrived.
 */
async function* oneStream(
  runtime: Pick<RuntimeService, 'getContainerEvents' | 'version'>,
  reconnect: boolean,
  signal: AbortSignal,
): AsyncGenerator<ContainerEventItem, void, undefined> {
  const stop = new AbortController();
  const onAbort = (): void => stop.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const events = runtime.getContainerEvents({}, stop.signal)[Symbol.asyncIterator]();
  const first = events.next();
  try {
    const opened = runtime.version({}, stop.signal).then(() => undefined);
    // The promise that loses the race may still reject later; the empty handlers prevent an unhandled rejection.
    first.catch(() => {});
    opened.catch(() => {});
    if ((await Promise.race([first, opened]))?.done) return;
    yield { type: 'connected', reconnect };
    for (let result = await first; !result.done; result = await events.next()) {
      yield { type: 'event', event: result.value };
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    stop.abort();
    await events.return?.().catch(() => {});
  }
}
