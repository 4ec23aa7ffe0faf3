import type { SpanContext, TraceHeaders } from './trace-context.ts';

/** Value of an attribute of a span. */
export type AttributeValue = string | number | boolean;

/** Attributes of a span by name, as in OpenTelemetry's semantic conventions. `undefined` values are omitted. */
export type SpanAttributes = Readonly<Record<string, AttributeValue | undefined>>;

/** Role of a span: work inside this process, a request that it sends, or a request that the process responds to. */
export type SpanKind = 'internal' | 'client' | 'server';

/** Start of a span. */
export interface SpanStart {
  readonly name: string;
  /** Role of the span. Default: `internal`. */
  readonly kind?: SpanKind;
  /** Returns the attributes of the span; called only if the span is recorded. */
  readonly attributes?: () => SpanAttributes;
  /** Parent of the new span, for example in another process. Default: the current span. */
  readonly parent?: SpanContext | undefined;
  /** Whether the span starts a new trace even if there is a current span. Default: false. */
  readonly root?: boolean;
  /** Span of another trace to which the new span is related. */
  readonly link?: SpanContext | undefined;
}

/** A span that has started. */
export interface Span {
  /** Whether the span will be exported. */
  readonly isRecording: boolean;
  /** Headers that carry the span to the receiver of a request. `undefined` if tracing is off. */
  readonly headers: TraceHeaders | undefined;
  /** Adds attributes, or replaces those with the same names. Texts are cut to 2,048 characters. */
  set(attributes: SpanAttributes): void;
  /** Marks the span as failed. The last call counts. The message is cut to 2,048 characters. */
  fail(message: string): void;
  /** Ends the span. Only the first call has an effect. */
  end(): void;
}

/**
 * Creates spans. Leaves of a trace, such as a request, use {@link Tracer.begin}; work that has spans below it uses
 * {@link Tracer.span}.
 */
export interface Tracer {
  /** Starts a span below the current one, without making it the current span. The caller must end the span. */
  begin(start: SpanStart): Span;
  /**
   * Runs `work` in a new span, which is current during `work` and ends with it. A rejection marks the span as failed.
   */
  span<T>(start: SpanStart, work: (span: Span) => Promise<T>): Promise<T>;
}

/** Span of {@link noTracer}. */
export const noSpan: Span = {
  isRecording: false,
  headers: undefined,
  set() {},
  fail() {},
  end() {},
};

/** A tracer that creates no spans. */
export const noTracer: Tracer = {
  begin: () => noSpan,
  span: (_start, work) => work(noSpan),
};
