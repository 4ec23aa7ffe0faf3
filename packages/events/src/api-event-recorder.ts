import {
  abortable,
  type Clock,
  checkComponents,
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

/** What an {@link ApiEventRecorder} works with. */
export interface ApiEventRecorderComponents {
  readonly sink: EventSink;
  /** Default: the machine's own. */
  readonly clock?: Clock;
  /** Default: the machine's own. */
  readonly random?: Random;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** Default: no metrics. */
  readonly metrics?: Metrics;
}

/** The limits are upstream's where absent. */
export interface ApiEventRecorderOptions {
  /** The node's name: `source.host` and `reportingInstance`. */
  readonly host: string;
  /** `source.component` and `reportingComponent`. Default: `kubelet`. */
  readonly component?: string;
  /** Requests per second, `eventRecordQPS`; 50 where absent, 0: no limit. */
  readonly qps?: number;
  /** Requests at once, `eventBurst`. Default: 100. */
  readonly burst?: number;
  /** How many events wait for the API server at most. Default: 1000. */
  readonly queueLimit?: number;
  /** How often an event is tried. Default: 12. */
  readonly maxTries?: number;
  /** The pause between two tries, in milliseconds. Default: 10,000. */
  readonly retryMs?: number;
  /** How long disposing may take to write what waits, in milliseconds. Default: 2,000. */
  readonly flushTimeoutMs?: number;
  /** How events are combined, counted and filtered; what is absent is client-go's. */
  readonly correlation?: Partial<CorrelationLimits>;
}

type DropReason = 'queue_full' | 'rejected' | 'retries_exceeded' | 'shutdown' | 'spam_filter';

/**
 * Writes events to the API server, as client-go's recorder does (`tools/record`): one by one, in order, each tried again
 * while the server is away. Nobody waits for it: events are counted and filtered when they happen, and wait in a queue
 * that drops its oldest.
 */
export class ApiEventRecorder implements EventRecorder, AsyncDisposable {
  readonly #components: WithDefaults<ApiEventRecorderComponents>;
  readonly #options: Required<Omit<ApiEventRecorderOptions, 'component' | 'host' | 'correlation'>>;
  readonly #source: EventSource;
  readonly #names: EventNames;
  readonly #correlator: Correlator;
  readonly #queue: EventQueue;
  readonly #stop = new AbortController();
  readonly #bucket: TokenBucket | undefined;
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
    const { qps, burst } = this.#options;
    this.#bucket = qps > 0 ? new TokenBucket(components, { qps, burst: Math.max(1, burst) }) : undefined;
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
   * Never blocks. What happens before {@link start} waits for it.
   * @throws TypeError for arguments that are not what they are declared to be, as an object that is `null`; nothing else
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

  /** Writes until `signal` is aborted, or this is disposed of. To be called once. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    this.#running = this.#run(signal);
    await this.#running;
  }

  /** Ends the writing; what waits is tried once more, until the API server fails or the time is over. */
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

  /** Returns when the event is written or given up. @throws the signal's reason */
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
      // The first pause is a random part, so that the nodes of a cluster do not come back all at once.
      const pauseMs = tries === 1 ? retryMs * random.next() : retryMs;
      await sleep(clock, Math.max(pauseMs, error.retryAfterMs ?? 0), signal);
    }
  }

  async #try(pending: PendingEvent, signal: AbortSignal): Promise<EventSinkError | undefined> {
    await this.#bucket?.acquire(signal);
    try {
      // A sink that does not listen is not waited for: what it is writing is written once more, under the same name.
      await abortable(writeEvent(this.#components.sink, pending, signal), signal);
    } catch (error) {
      signal.throwIfAborted();
      return EventSinkError.from(error);
    }
    this.#written.inc({});
    if (this.#droppedInOutage > 0) {
      this.#components.logger.warn(
        { count: this.#droppedInOutage },
        'Events were dropped while the API server was away',
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
      logger.debug({ err: error }, 'Flushing events was cut short');
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
    // An outage is told once when it begins to cost events, and once when it is over.
    const outage = reason === 'queue_full' || reason === 'retries_exceeded';
    const quiet = reason === 'shutdown' || error?.code === 'NamespaceTerminating';
    const known = outage && this.#droppedInOutage > 0;
    if (outage) this.#droppedInOutage++;
    this.#components.logger[quiet || known ? 'debug' : 'warn'](fields, 'Unable to write event (will not retry!)');
  }
}
