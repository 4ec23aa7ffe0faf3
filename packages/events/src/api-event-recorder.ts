import {
  abortable,
  type Clock,
  checkComponents,
  checkNumbers,
  checkOptions,
  linkAbort,
  type Random,
  StartOnce,
  sleep,
  TokenBucket,
  withTimeout,
} from '@node-agent/async';
import {
  type Counter,
  type EventRecorder,
  type EventType,
  type Logger,
  type Metrics,
  type ObjectReference,
  type WithDefaults,
  withDefaults,
} from '@node-agent/telemetry';
import { type CorrelationLimits, Correlator, defaultCorrelationLimits } from './correlator.ts';
import { type CoreEvent, type EventSource, newEvent } from './event.ts';
import { EventNames } from './event-names.ts';
import { EventQueue, type PendingEvent } from './event-queue.ts';
import { type EventSink, writeEvent } from './event-sink.ts';
import { EventSinkError } from './sink-error.ts';

/** The components of an {@link ApiEventRecorder}. */
export interface ApiEventRecorderComponents {
  readonly sink: EventSink;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: the system's random source. */
  readonly random?: Random;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** Default: no metrics. */
  readonly metrics?: Metrics;
}

/** The options of an {@link ApiEventRecorder}. Default limits are upstream's. */
export interface ApiEventRecorderOptions {
  /** The name of the node: `source.host` and `reportingInstance`. */
  readonly host: string;
  /** `source.component` and `reportingComponent`. Default: `kubelet`. */
  readonly component?: string;
  /** Requests per second, `eventRecordQPS`. 0: no limit. Default: 50. */
  readonly qps?: number;
  /** The burst of requests, `eventBurst`. Default: 100. */
  readonly burst?: number;
  /** The maximum number of queued events. Default: 1000. */
  readonly queueLimit?: number;
  /** The maximum number of attempts per event. Default: 12. */
  readonly maxTries?: number;
  /** The delay between two attempts, in milliseconds. Default: 10,000. */
  readonly retryMs?: number;
  /** Maximum time for which disposal writes queued events, in milliseconds. Default: 2,000. */
  readonly flushTimeoutMs?: number;
  /** Limits for aggregating, counting and filtering events. Default: client-go's. */
  readonly correlation?: Partial<CorrelationLimits>;
}

type DropReason = 'queue_full' | 'rejected' | 'retries_exceeded' | 'shutdown' | 'spam_filter';

/**
 * Writes events to the API server, as client-go's recorder does (`tools/record`): one at a time, in order, with retries
 * while the server is unavailable. Callers never wait: events are counted and filtered when they occur, and are queued.
 * If the queue is full, the oldest event is dropped.
 */
export class ApiEventRecorder implements EventRecorder, AsyncDisposable {
  readonly #components: WithDefaults<ApiEventRecorderComponents>;
  readonly #options: Required<Omit<ApiEventRecorderOptions, 'component' | 'host' | 'correlation'>>;
  readonly #source: EventSource;
  readonly #names: EventNames;
  readonly #correlator: Correlator;
  readonly #queue: EventQueue;
  readonly #stop = new AbortController();
  #bucket: TokenBucket | undefined;
  readonly #dropped: Counter<'reason'>;
  readonly #written: Counter;
  #running: Promise<void> | undefined;
  #droppedInOutage = 0;
  readonly #startOnce = new StartOnce('ApiEventRecorder');

  /** @throws OptionsError naming the component or option that is wrong */
  constructor(given: ApiEventRecorderComponents, options: ApiEventRecorderOptions) {
    checkOptions('ApiEventRecorder', options, {
      host: 'string',
      component: 'string?',
      qps: 'notNegative?',
      burst: 'notNegative?',
      queueLimit: 'limit?',
      maxTries: 'limit?',
      retryMs: 'positive?',
      flushTimeoutMs: 'notNegative?',
      correlation: 'object?',
    });
    checkComponents('ApiEventRecorder', given, { sink: ['createEvent', 'patchEvent'] });
    const components = withDefaults(given);
    const { host, component = 'kubelet', correlation, ...limits } = options;
    this.#components = components;
    this.#source = { component, host };
    this.#options = {
      qps: 50,
      burst: 100,
      queueLimit: 1000,
      maxTries: 12,
      retryMs: 10_000,
      flushTimeoutMs: 2_000,
      ...limits,
    };
    this.setRate(this.#options);
    this.#names = new EventNames(components);
    this.#correlator = new Correlator({ ...defaultCorrelationLimits, ...correlation });
    this.#queue = new EventQueue(this.#options.queueLimit);
    this.#dropped = components.metrics.counter({
      name: 'kubelet_events_dropped_total',
      help: 'Events that were not written to the API server, by reason.',
      labels: ['reason'],
    });
    this.#written = components.metrics.counter({
      name: 'kubelet_events_written_total',
      help: 'Writes of events to the API server that succeeded.',
    });
  }

  /**
   * Changes the rate of requests to the API server. Requests that already wait are sent at the old rate.
   * @param rate `qps` 0: no limit
   * @throws OptionsError naming the invalid value
   */
  setRate({ qps, burst }: { readonly qps: number; readonly burst: number }): void {
    checkNumbers({ qps, burst }, { qps: 'notNegative', burst: 'notNegative' });
    this.#bucket = qps > 0 ? new TokenBucket(this.#components, { qps, burst: Math.max(1, burst) }) : undefined;
  }

  /**
   * Records an event without blocking. Events recorded before {@link start} are queued.
   * @throws TypeError only if an argument has the wrong type, such as a `null` object
   */
  event(
    object: ObjectReference,
    type: EventType,
    reason: string,
    message: string,
    annotations?: Readonly<Record<string, string>>,
  ): void {
    const { clock } = this.#components;
    const name = this.#names.next(object.name);
    const told = { object, type, reason, message, annotations };
    const occurrence = { ...told, source: this.#source, atMs: clock.now(), name };
    const event = this.#correlator.correlate(newEvent(occurrence), clock.monotonic());
    if (event === undefined) {
      this.#dropped.inc({ reason: 'spam_filter' });
      return;
    }
    for (const dropped of this.#queue.push(event)) this.#drop(dropped, this.#queue.closed ? 'shutdown' : 'queue_full');
  }

  /** Writes events until `signal` is aborted or the recorder is disposed. May be called once. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    this.#running = this.#run(signal);
    await this.#running;
  }

  /** Stops the recorder. Queued events are tried once more, until the API server fails or the timeout expires. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#queue.close();
    this.#stop.abort();
    await this.#running;
    await this.#flush();
  }

  async #run(signal: AbortSignal): Promise<void> {
    using link = linkAbort(signal, this.#stop.signal);
    let pending: PendingEvent | undefined;
    try {
      for (;;) {
        pending = await this.#queue.take(link.signal);
        if (pending === undefined) return;
        await this.#write(pending, link.signal);
        pending = undefined;
      }
    } catch (error) {
      if (!link.signal.aborted) throw error;
      if (pending !== undefined) this.#queue.putBack(pending);
    }
  }

  /** Writes an event with retries, and returns when the event is written or dropped. @throws the signal's reason */
  async #write(pending: PendingEvent, signal: AbortSignal): Promise<void> {
    const { clock, logger, random } = this.#components;
    const { maxTries, retryMs } = this.#options;
    for (let tries = 1; ; tries++) {
      const error = await this.#try(pending, signal);
      if (error === undefined) return;
      if (error.code !== 'Unavailable') {
        this.#drop(pending.event, 'rejected', error);
        return;
      }
      if (tries >= maxTries) {
        this.#drop(pending.event, 'retries_exceeded', error);
        return;
      }
      logger.debug({ err: error, event: pending.event }, 'Unable to write event (may retry after sleeping)');
      // The first delay is random, so that the nodes of a cluster do not retry at the same time.
      const pauseMs = tries === 1 ? retryMs * random.next() : retryMs;
      await sleep(clock, Math.max(pauseMs, error.retryAfterMs ?? 0), signal);
    }
  }

  async #try(pending: PendingEvent, signal: AbortSignal): Promise<EventSinkError | undefined> {
    await this.#bucket?.acquire(signal);
    try {
      // A sink that ignores the signal is not waited for. The event is then written again under the same name.
      await abortable(writeEvent(this.#components.sink, pending, signal), signal);
    } catch (error) {
      signal.throwIfAborted();
      return EventSinkError.from(error);
    }
    this.#written.inc({});
    if (this.#droppedInOutage > 0) {
      this.#components.logger.warn(
        { count: this.#droppedInOutage },
        'Dropped events while the API server was unavailable',
      );
      this.#droppedInOutage = 0;
    }
    return undefined;
  }

  async #flush(): Promise<void> {
    const { clock, logger } = this.#components;
    try {
      await withTimeout(clock, this.#options.flushTimeoutMs, async (signal) => {
        for (let next = this.#queue.shiftNow(); next !== undefined; next = this.#queue.shiftNow()) {
          const error = await this.#try(next, signal).catch((cause: unknown) => EventSinkError.from(cause));
          if (error !== undefined) this.#drop(next.event, 'shutdown', error);
          if (error?.code === 'Unavailable') return;
        }
      });
    } catch (error) {
      logger.debug({ err: error }, 'Stopped flushing events early');
    }
    if (this.#queue.size > 0) {
      logger.warn({ count: this.#queue.size }, 'Unable to write all events (recorder is shut down)');
    }
    for (let next = this.#queue.shiftNow(); next !== undefined; next = this.#queue.shiftNow()) {
      this.#drop(next.event, 'shutdown');
    }
  }

  #drop(event: CoreEvent, reason: DropReason, error?: EventSinkError): void {
    this.#dropped.inc({ reason });
    const fields = { event, reason, ...(error !== undefined && { err: error }) };
    // An outage is logged once when events are first dropped, and once when it is over.
    const outage = reason === 'queue_full' || reason === 'retries_exceeded';
    const quiet = reason === 'shutdown' || error?.code === 'NamespaceTerminating';
    const known = outage && this.#droppedInOutage > 0;
    if (outage) this.#droppedInOutage++;
    this.#components.logger[quiet || known ? 'debug' : 'warn'](fields, 'Unable to write event (will not retry!)');
  }
}
