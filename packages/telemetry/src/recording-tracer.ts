import { AsyncLocalStorage } from 'node:async_hooks';
import { type Clock, type Random, systemClock, systemRandom } from '@node-agent/async';
import { errorText } from './error-text.ts';
import { isSampled } from './sampling.ts';
import { type SpanContext, type TraceHeaders, traceHeaders } from './trace-context.ts';
import type { AttributeValue, Span, SpanAttributes, SpanKind, SpanStart, Tracer } from './tracer.ts';

/** A span that has ended. */
export interface EndedSpan {
  readonly context: SpanContext;
  /** Span ID of the parent; absent for the first span of a trace. */
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: SpanKind;
  /** Start of the span, as wall clock time in ms. */
  readonly startMs: number;
  /**
   * End of the span, as wall clock time in ms. Jumps of the wall clock during the span have no effect on the duration.
   */
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  /** Error message of a span that failed; otherwise absent. */
  readonly error?: string;
  readonly link?: SpanContext;
}

/** Components of a {@link RecordingTracer}. */
export interface RecordingTracerComponents {
  /** Receives each sampled span when it has ended. Must not block or throw. */
  readonly exporter: { add(span: EndedSpan): void };
  /** Clock for the times of spans. Default: the system clock. */
  readonly clock?: Pick<Clock, 'now' | 'monotonic'>;
  /** Source of span and trace IDs. Default: the system's random numbers. */
  readonly random?: Random;
}

/**
 * Creates spans with W3C trace IDs and hands the sampled ones to an exporter. A span with a parent is sampled if its
 * parent is; the first span of a trace is sampled at the configured rate (upstream: `ParentBased(TraceIDRatioBased)` of
 * `k8s.io/component-base/tracing`). The current span is kept across `await`s.
 */
export class RecordingTracer implements Tracer {
  readonly #exporter: RecordingTracerComponents['exporter'];
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly #random: Random;
  readonly #samplingRatePerMillion: number;
  readonly #current = new AsyncLocalStorage<SpanContext>();

  /** @param options.samplingRatePerMillion number of new traces per million that are sampled. Default: 0. */
  constructor(
    { exporter, clock = systemClock, random = systemRandom }: RecordingTracerComponents,
    options: { readonly samplingRatePerMillion?: number } = {},
  ) {
    this.#exporter = exporter;
    this.#clock = clock;
    this.#random = random;
    this.#samplingRatePerMillion = options.samplingRatePerMillion ?? 0;
  }

  begin(start: SpanStart): Span {
    return this.#start(start).span;
  }

  async span<T>(start: SpanStart, work: (span: Span) => Promise<T>): Promise<T> {
    const { span, context } = this.#start(start);
    try {
      return await this.#current.run(context, work, span);
    } catch (error) {
      span.fail(errorText(error));
      throw error;
    } finally {
      span.end();
    }
  }

  #start(start: SpanStart): { readonly span: Span; readonly context: SpanContext } {
    const parent = start.parent ?? (start.root === true ? undefined : this.#current.getStore());
    const traceId = parent?.traceId ?? this.#id(4);
    const context: SpanContext = {
      traceId,
      spanId: this.#id(2),
      sampled: parent?.sampled ?? isSampled(traceId, this.#samplingRatePerMillion),
      ...(parent?.tracestate !== undefined && { tracestate: parent.tracestate }),
    };
    const span = context.sampled
      ? new RecordedSpan(start, context, parent?.spanId, this.#clock, this.#exporter)
      : { ...unsampled, headers: traceHeaders(context) };
    return { span, context };
  }

  /** Returns a random ID of `words` times 8 hex digits, not all 0. */
  #id(words: number): string {
    let id = '';
    for (let i = 0; i < words; i++) {
      id += Math.floor(this.#random.next() * 2 ** 32)
        .toString(16)
        .padStart(8, '0');
    }
    return /[^0]/.test(id) ? id : `${id.slice(1)}1`;
  }
}

const unsampled: Omit<Span, 'headers'> = { isRecording: false, set() {}, fail() {}, end() {} };

class RecordedSpan implements Span {
  readonly isRecording = true;
  readonly #start: SpanStart;
  readonly #context: SpanContext;
  readonly #parentSpanId: string | undefined;
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly #exporter: RecordingTracerComponents['exporter'];
  readonly #startMs: number;
  readonly #startedAtMs: number;
  readonly #attributes: Record<string, AttributeValue> = {};
  #error: string | undefined;
  #hasEnded = false;

  constructor(
    start: SpanStart,
    context: SpanContext,
    parentSpanId: string | undefined,
    clock: Pick<Clock, 'now' | 'monotonic'>,
    exporter: RecordingTracerComponents['exporter'],
  ) {
    this.#start = start;
    this.#context = context;
    this.#parentSpanId = parentSpanId;
    this.#clock = clock;
    this.#exporter = exporter;
    this.#startMs = clock.now();
    this.#startedAtMs = clock.monotonic();
    if (start.attributes !== undefined) this.set(start.attributes());
  }

  get headers(): TraceHeaders {
    return traceHeaders(this.#context);
  }

  set(attributes: SpanAttributes): void {
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== undefined) this.#attributes[name] = typeof value === 'string' ? boundedCopy(value) : value;
    }
  }

  fail(message: string): void {
    this.#error = boundedCopy(message);
  }

  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const { name, kind = 'internal', link } = this.#start;
    this.#exporter.add({
      context: this.#context,
      ...(this.#parentSpanId !== undefined && { parentSpanId: this.#parentSpanId }),
      ...{ name, kind, startMs: this.#startMs },
      endMs: this.#startMs + (this.#clock.monotonic() - this.#startedAtMs),
      attributes: this.#attributes,
      ...(this.#error !== undefined && { error: this.#error }),
      ...(link !== undefined && { link }),
    });
  }
}

/** Maximum length of the texts of a span, in UTF-16 code units. Spans wait in memory until they are exported. */
const MAX_TEXT_LENGTH = 2048;

/**
 * Returns a copy of the first 2,048 characters. `slice` alone would keep the whole original in memory: V8 represents a
 * slice as a reference to its original.
 */
function boundedCopy(text: string): string {
  return Buffer.from(text.slice(0, MAX_TEXT_LENGTH)).toString();
}
