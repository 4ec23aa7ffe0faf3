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

/** What {@link watchContainerEvents} needs. */
export interface ContainerEventComponents {
  readonly runtime: Pick<RuntimeService, 'getContainerEvents' | 'version'>;
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** The machine's own where absent. */
  readonly random?: Random;
  /** Silent where absent. */
  readonly logger?: Logger;
}

/** How long to wait before the stream is opened again. */
export interface ContainerEventOptions {
  /** The first wait, in milliseconds; each further one is twice as long. 100 where absent. */
  readonly backOffMs?: number;
  /** The longest wait, in milliseconds; 3,000 where absent. */
  readonly maxBackOffMs?: number;
}

/**
 * `connected`: the stream is open and events come from now on; what happened before this instant may have been missed,
 * so that the reader must list once. `reconnect` is false for the first one. `event`: one event.
 */
export type ContainerEventItem =
  | { readonly type: 'connected'; readonly reconnect: boolean }
  | { readonly type: 'event'; readonly event: ContainerEventResponse };

/**
 * The runtime's container events, over as many streams as it takes: where one ends, another is opened after a jittered
 * back-off, which begins anew after a stream that lasted.
 *
 * Ends when `signal` is aborted. @throws CriError `UNIMPLEMENTED` where the runtime has no events: list periodically then.
 * Source: KEP-3386; upstream gives up after five attempts (`pkg/kubelet/pleg/evented.go`).
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
      logger.debug({}, 'The stream of container events has ended');
    } catch (error) {
      if (signal.aborted) return;
      const failure = CriError.from(error, 'GetContainerEvents');
      if (failure.code === 'UNIMPLEMENTED') throw failure;
      logger.debug({ err: failure, retryInMs: delayMs }, 'The stream of container events has failed');
    }
    if (clock.monotonic() - startMs >= maxBackOffMs) delayMs = backOffMs;
    await sleep(clock, jitter(random, delayMs, 0.5), signal).catch(() => {});
    delayMs = Math.min(delayMs * 2, maxBackOffMs);
  }
}

/**
 * One stream. A runtime sends nothing, not even headers, before the first event, so that the answer to a call made after
 * the stream's request tells that the request has arrived.
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
    // The one that loses the race may fail when nobody waits for it any longer.
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
